"""Test sets: readers, the synthetic set, the manifest and its checks."""
