class CheckerSignatureError(TypeError):
    """The function `check` does not take three texts."""


def _paddock_main():
    import asyncio
    import inspect
    import sys

    texts = []
    for path in sys.argv[1:4]:
        with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:
            texts.append(file.read())
    try:
        inspect.signature(check).bind(*texts)
    except TypeError as error:
        raise CheckerSignatureError(f"check(input, output, answer): {error}") from None
    is_right = check(*texts)
    if inspect.iscoroutine(is_right):
        is_right = asyncio.run(is_right)
    sys.exit(0 if is_right else 1)


_paddock_main()
