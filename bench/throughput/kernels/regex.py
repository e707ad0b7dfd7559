import re
text = 'the quick brown fox 12345 jumps over 67 lazy dogs ' * 4_000
len(re.findall(r'\b([a-z]+)\s(\d+)', text)) + len(re.sub(r'[aeiou]', '', text))
