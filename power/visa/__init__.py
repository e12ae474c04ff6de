"""The way to a meter over VISA, and its failures in one sentence each. The only importer of pyvisa."""
