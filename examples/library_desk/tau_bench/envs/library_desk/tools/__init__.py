from .call_librarian import CallLibrarian
from .find_books import FindBooks
from .find_member import FindMember
from .lend_book import LendBook
from .pay_fees import PayFees
from .return_book import ReturnBook

ALL_TOOLS = [CallLibrarian, FindBooks, FindMember, LendBook, PayFees, ReturnBook]
