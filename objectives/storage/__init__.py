"""Where rows larger than memory are stored; each source reads a stretch of rows when asked."""

from ldr.objectives.storage.memory_map import MemoryMap
from ldr.objectives.storage.npy import NpyFile

__all__ = ["MemoryMap", "NpyFile"]
