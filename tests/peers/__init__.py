"""Other packages' own tests, with classes of ldr in the place of theirs."""
