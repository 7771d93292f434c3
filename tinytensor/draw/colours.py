"""The colours of pictures, in every format."""

from .picture import BUFFER, COMPUTED, INPUT, PARAMETER

# of text: as usual, less important, of gradients
INK, SOFT, GRADIENT = "#1f2933", "#6b7785", "#b3382c"
ARROW = "#7b8794"

# (fill, border) of each kind of box
COLOURS = {
    PARAMETER: ("#fff3d6", "#d9a441"),
    BUFFER: ("#f3efe6", "#b0a48a"),
    INPUT: ("#e4f1ee", "#4f9b8a"),
    COMPUTED: ("#ffffff", "#9aa5b1"),
    "output": ("#e3f3e3", "#4c9a52"),
    "op": ("#e3ecfa", "#5b86c4"),
    "module": ("#ece6f7", "#8468b8"),
}
FLAGGED = ("#fdeceb", "#c5281c")  # of what is strange; words say so too

FRAMES = ("#f8f9fb", "#f0f3f7", "#e8edf3", "#e0e6ee", "#d8e0ea")  # by depth, for groups
FRAME_BORDER = "#b8c2cc"
REFERENCE = "#eef4fd"  # of an opened op
