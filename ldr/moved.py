"""What is said of modules that this version does not have: a pickle of an earlier one asks so."""


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
            from ldr.solvers.pickles import OF_ANOTHER

            raise ModuleNotFoundError(
                f"ldr {self.version} has no module {name!r}. If a pickle refers to it, "
                + OF_ANOTHER,
                name=name,
            )
