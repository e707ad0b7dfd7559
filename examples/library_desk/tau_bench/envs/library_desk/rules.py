RULES = [
    "Find out who you are talking to before you change anything.",
    "Tell nobody about the loans or fees of another member.",
    "Do one thing at a time, and say what was done.",
]
