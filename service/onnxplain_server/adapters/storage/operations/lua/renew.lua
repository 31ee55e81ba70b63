-- Extends a claim, records progress, and keeps the request as long as it may be needed again.
local id, token, done, planned = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
allow_when_full()
if not is_held(id, token) then
  return 'lost'
end
call('HSET', key('record', id), 'done', done, 'planned', planned)
write('ZADD', key('running'), integer(now + lease_ms), id)
set_expiry(id)
return read(id, 'is_cancel_requested') and 'cancel' or 'ok'
