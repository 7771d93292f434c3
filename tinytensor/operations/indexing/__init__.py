"""Reading and writing at positions."""

from ...define.listing import publish
from .reading import (
    take_along_axis,
    gather,
    index_select,
    take,
    masked_select,
    nonzero,
)
from .embedding import (
    embedding,
    one_hot,
)
from .writing import (
    scatter,
    scatter_add,
    index_add,
    masked_scatter,
)
from .at import (
    at,
)

publish(globals())
