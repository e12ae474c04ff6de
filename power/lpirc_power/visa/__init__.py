"""Links to meters over VISA, and their failures in one sentence each. The only importer of pyvisa.

Knows no commands but `*IDN?` and `*OPC?`, which every instrument has: the others are a driver's. Start with `link`;
`usb` and `library` go below VISA, `instrument_search` looks for meters.
"""
