"""Where the time goes: ``with tt.profile() as p: ...`` and then ``print(p)``."""

from .costs import Cost, Costs, Entry
from .floor import Product
from .timers import Profile, profile

__all__ = ["Cost", "Costs", "Entry", "Product", "Profile", "profile"]
