-- Puts an operation back at the head of its owner's queue, or to where it waits for some time.
local id, token, is_crash, delay_ms = ARGV[6], ARGV[7], ARGV[8] == '1', tonumber(ARGV[9])
allow_when_full()
if not is_held(id, token) then
  return 'lost'
end
local owner, record = owner_of(id), key('record', id)
call('HSET', record, 'state', 'pending')
call('HINCRBY', record, is_crash and 'crashes' or 'attempts', is_crash and 1 or -1)
call('ZREM', key('running'), id)
if delay_ms > 0 then
  write('ZADD', key('pending'), read(id, 'created'), id)
  write('ZADD', key('delayed'), integer(now + delay_ms), id)
  return 'ok'
end
local first = call('ZRANGE', key('queue', owner), 0, 0, 'WITHSCORES')
enqueue(id, owner, integer(math.min(tonumber(first[2] or '0'), 0) - 1))
return 'ok'
