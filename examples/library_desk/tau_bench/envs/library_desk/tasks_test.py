from tau_bench.types import Action, Task


def act(name, **kwargs):
    return Action(name=name, kwargs=kwargs)


TASKS = [
    Task(
        user_id="M01",
        instruction="You are Ada Fennimore. You want to take The Salt Road home. You are friendly and brief.",
        actions=[
            act("find_member", who="Ada Fennimore"),
            act("find_books", words="salt road"),
            act("lend_book", member_id="M01", book_id="B101"),
        ],
        outputs=[],
    ),
    Task(
        user_id="M02",
        instruction="You are Bruno Castellan. You bring back Knots and Other Answers, and want to know what you owe then.",
        actions=[
            act("find_member", who="Bruno Castellan"),
            act("return_book", book_id="B103"),
        ],
        outputs=["3.50"],
    ),
    Task(
        user_id="M04",
        instruction="You are Dagny O'Rourke. You bring back Bread in Seven Days and pay everything that you owe.",
        actions=[
            act("find_member", who="Dagny O'Rourke"),
            act("return_book", book_id="B107"),
            act("pay_fees", member_id="M04", amount=8.25),
        ],
        outputs=[],
    ),
    Task(
        user_id="M03",
        instruction="You are Chidi Marsh. You want Letters to a Lighthouse. If it is out, have it held for you.",
        actions=[
            act("find_member", who="M03"),
            act("find_books", words="Lighthouse"),
            act("lend_book", member_id="M03", book_id="B109"),
        ],
        outputs=["2025-03-09"],
    ),
    Task(
        user_id="M05",
        instruction="You are Elif Yıldız, number M05. You want 雨の図書館. You have three books out; bring back the late one first.",
        actions=[
            act("find_member", who="M05"),
            act("find_books", words="雨"),
            act("lend_book", member_id="M05", book_id="B111"),
            act("return_book", book_id="B109"),
            act("lend_book", member_id="M05", book_id="B111"),
        ],
        outputs=[],
    ),
    Task(
        user_id="M06",
        instruction="You are Farouk Bell. You want A Field Guide to Puddles. You can pay 2.50 of your fees today, and no more.",
        actions=[
            act("find_member", who="Farouk Bell"),
            act("find_books", words="puddles"),
            act("lend_book", member_id="M06", book_id="B104"),
            act("pay_fees", member_id="M06", amount=2.5),
            act("lend_book", member_id="M06", book_id="B104"),
        ],
        outputs=[],
    ),
    Task(
        user_id="M07",
        instruction="You are Greta Voss. You want to borrow your own Atlas of Small Islands, and if you may not, you want to know its shelf.",
        actions=[],
        outputs=["R1"],
    ),
    Task(
        user_id="M08",
        instruction="You are Hugo Castellan. You want to know what your brother Bruno has borrowed. You take no for an answer.",
        actions=[],
        outputs=[],
    ),
]
