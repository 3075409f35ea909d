# Writes the bytes of INPUT as a C initialiser, ended by 0, to OUTPUT.
file(READ ${INPUT} text HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${text}")
string(REGEX REPLACE "(................................................................................)" "\\1\n"
       bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}0x00\n")
