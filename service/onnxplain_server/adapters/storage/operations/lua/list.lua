-- Returns the number of the last operation that was looked at, and the operations
-- with their ids, newest first.
local owner, before, count = ARGV[6], ARGV[7], ARGV[8]
purge()
local numbered = call('ZREVRANGEBYSCORE', key('owned', owner), '(' .. before, '-inf',
  'WITHSCORES', 'LIMIT', 0, count)
local found, last = {}, ''
for i = 1, #numbered, 2 do
  last = integer(numbered[i + 1])
  if is_kept(numbered[i], owner) then
    found[#found + 1] = {numbered[i], shown(numbered[i])}
  else
    forget(numbered[i])
  end
end
return {last, found}
