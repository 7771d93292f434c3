def export() -> None:
    """x"""
