"""Streams of bytes, line by line."""


class LineSplitter:
    """Splits chunks of any size into lines, in linear time."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that DATA completes, without their newlines."""
        lines = data.split(b"\n")
        if len(lines) == 1:
            self._rest += data
            return []
        if self._rest:
            self._rest += lines[0]
            lines[0] = self.rest()
        self._rest += lines.pop()
        return lines

    def waiting(self) -> int:
        return len(self._rest)

    def rest(self) -> bytes:
        """What came after the last line end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest

    def clear(self) -> None:
        """Forget what came after the last line end."""
        self._rest.clear()
