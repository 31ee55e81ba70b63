-- Puts an operation back at the head of its owner's queue, or to where it waits for some time.
local id, token, delay_ms = ARGV[6], ARGV[7], tonumber(ARGV[10])
local is_counted, is_crash = ARGV[8] == '1', ARGV[9] == '1'
allow_when_full()
if not is_held(id, token) then
  return 'lost'
end
local owner, record = owner_of(id), key('record', id)
call('HSET', record, 'state', 'pending')
if is_crash then
  call('HINCRBY', record, 'crashes', 1)
elseif not is_counted then
  call('HINCRBY', record, 'attempts', -1)
end
call('ZREM', key('running'), id)
if delay_ms > 0 then
  write('ZADD', key('pending'), read(id, 'created'), id)
  write('ZADD', key('delayed'), integer(now + delay_ms), id)
  return 'ok'
end
local first = call('ZRANGE', key('queue', owner), 0, 0, 'WITHSCORES')
enqueue(id, owner, integer(math.min(tonumber(first[2] or '0'), 0) - 1))
return 'ok'
