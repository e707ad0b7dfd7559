# @yaml
# signature: validate
# docstring: scores your work as it is now and tells you the result; you may go on afterwards
validate() { printf '%s\n' '<<VALIDATION||' 'the work is scored' '||VALIDATION>>'; }

# @yaml
# signature: submit
# docstring: hands in your work as it is now, and ends the task
submit() { printf '%s\n' '<<SUBMISSION||' 'the work is handed in' '||SUBMISSION>>'; }
