from tau_bench.types import Action, Task


def act(name, **kwargs):
    return Action(name=name, kwargs=kwargs)


TASKS = [
    Task(
        user_id="M08",
        instruction="You are Hugo Castellan. You want Learning to Whistle, and if it is out, to have it held for you.",
        actions=[
            act("find_member", who="Hugo Castellan"),
            act("find_books", words="whistle"),
            act("lend_book", member_id="M08", book_id="B112"),
        ],
        outputs=[],
    ),
    Task(
        user_id="M02",
        instruction="You are Bruno Castellan. You pay 1 of what you owe.",
        actions=[
            act("find_member", who="Bruno Castellan"),
            act("pay_fees", member_id="M02", amount=1),
        ],
        outputs=[],
    ),
    Task(
        user_id="M01",
        instruction="You are Ada Fennimore. You found a purse between the shelves and want to give it to somebody in charge.",
        actions=[act("call_librarian", matter="A purse was found between the shelves")],
        outputs=[],
    ),
    Task(
        user_id="M07",
        instruction="You are Greta Voss. You bring back The Salt Road and take Clocks That Run Backwards, or have it held.",
        actions=[
            act("find_member", who="Greta Voss"),
            act("return_book", book_id="B102"),
            act("find_books", words="clocks"),
            act("lend_book", member_id="M07", book_id="B110"),
        ],
        outputs=[],
    ),
]
