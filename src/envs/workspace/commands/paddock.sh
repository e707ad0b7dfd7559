_paddock() {
    local answer size text status
    answer="$(
        CURRENT_FILE="$CURRENT_FILE" CURRENT_LINE="$CURRENT_LINE" WINDOW="$WINDOW" OVERLAP="$OVERLAP" \
        LAST_ACTION="$LAST_ACTION" SCROLL_COUNT="$SCROLL_COUNT" PWD="$PWD" \
        python -c 'import paddock_commands; paddock_commands.main()' "$@"
    )"
    status=$?
    [[ -n $answer ]] || return $status
    size="${answer:0:6}"
    size=$((10#$size))
    eval "${answer:6:$size}"
    text="${answer#*$'\n'}"
    [[ -z $text ]] || printf '%s\n' "$text"
    return $status
}

# @yaml
# signature: open "<path>" [<line_number>]
# docstring: shows a file, {WINDOW} lines of it at a time, and makes it the open file
# arguments:
#   path:
#     type: string
#     description: the file to open
#     required: true
#   line_number:
#     type: integer
#     description: a line that is to be among those shown; without it they are shown from the first on
#     required: false
open() { _paddock open "$@"; }

# @yaml
# signature: goto <line_number>
# docstring: shows the part of the open file that has this line
# arguments:
#   line_number:
#     type: integer
#     description: the line to show
#     required: true
goto() { _paddock goto "$@"; }

# @yaml
# signature: scroll_down
# docstring: shows the next {WINDOW} lines of the open file
scroll_down() { _paddock scroll_down "$@"; }

# @yaml
# signature: scroll_up
# docstring: shows the {WINDOW} lines of the open file that come before
scroll_up() { _paddock scroll_up "$@"; }

# @yaml
# signature: create "<path>"
# docstring: makes a new file with one empty line in it, and opens it
# arguments:
#   path:
#     type: string
#     description: the file to make
#     required: true
create() { _paddock create "$@"; }

# @yaml
# signature: search_dir "<text>" [<folder>]
# docstring: lists the files below a folder that have a text in them, and in how many lines
# arguments:
#   text:
#     type: string
#     description: what to look for, as grep reads it
#     required: true
#   folder:
#     type: string
#     description: where to look; the current directory without it
#     required: false
search_dir() { _paddock search_dir "$@"; }

# @yaml
# signature: search_file "<text>" [<file>]
# docstring: lists the lines of a file that have a text in them
# arguments:
#   text:
#     type: string
#     description: what to look for, as grep reads it
#     required: true
#   file:
#     type: string
#     description: the file to look into; the open file without it
#     required: false
search_file() { _paddock search_file "$@"; }

# @yaml
# signature: find_file "<name>" [<folder>]
# docstring: lists the files of this name below a folder
# arguments:
#   name:
#     type: string
#     description: the name, in which * stands for any letters and ? for one
#     required: true
#   folder:
#     type: string
#     description: where to look; the current directory without it
#     required: false
find_file() { _paddock find_file "$@"; }

# @yaml
# signature: |-
#   edit <start_line>:<end_line>
#   <text>
#   end_of_edit
# docstring: puts a text in the place of some lines of the open file, both lines included. The text goes up to a line with end_of_edit alone and is taken as it stands, so its indentation must be whole. A Python file is looked through afterwards, and an edit that brings an error is not kept.
# end_name: end_of_edit
# arguments:
#   start_line:
#     type: integer
#     description: the first line that is replaced
#     required: true
#   end_line:
#     type: integer
#     description: the last line that is replaced
#     required: true
#   text:
#     type: string
#     description: what is to be there instead; without any line, the old ones are removed
#     required: true
edit() { _paddock edit "$@"; }

# @yaml
# signature: |-
#   insert <line_number>
#   <text>
#   end_of_insert
# docstring: puts a text behind a line of the open file. The text goes up to a line with end_of_insert alone and is taken as it stands, so its indentation must be whole. A Python file is looked through afterwards, and text that brings an error is not kept.
# end_name: end_of_insert
# arguments:
#   line_number:
#     type: integer
#     description: the line behind which the text goes; 0 puts it before the first
#     required: true
#   text:
#     type: string
#     description: what is put in
#     required: true
insert() { _paddock insert "$@"; }
