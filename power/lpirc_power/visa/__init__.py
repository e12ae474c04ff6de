"""Links to meters over VISA, and their failures in one sentence each. The only package that imports pyvisa.

It knows no commands but `*IDN?` and `*OPC?`, which every instrument has; all other commands belong to a driver. Start
with `link`. `usb` and `library` work below VISA; `instrument_search` looks for meters.
"""
