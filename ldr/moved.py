"""What is said of modules that this version does not have: a pickle of an earlier one asks so."""

OF_ANOTHER = (
    "another version of ldr wrote that pickle and this one cannot read it: read it with the "
    "version that wrote it and keep P and mean, which are arrays, or solve again"
)


class Moved:
    """The last finder, asked for a module that no other has found.

    Parameters
    ----------
    version : str
        Of ldr.
    """

    def __init__(self, version: str) -> None:
        self.version = version

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Nothing of other packages.

        Raises
        ------
        ModuleNotFoundError
            A module of ldr.
        """
        if name.startswith("ldr."):
            raise ModuleNotFoundError(
                f"ldr {self.version} has no module {name!r}. If a pickle refers to it, "
                + OF_ANOTHER,
                name=name,
            )
