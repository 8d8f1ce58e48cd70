"""The stages of a run, one file each, in the order of `Stage`."""
