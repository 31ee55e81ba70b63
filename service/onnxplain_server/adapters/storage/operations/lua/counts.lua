-- Returns statistics.
purge()
local oldest = call('ZRANGE', key('pending'), 0, 0, 'WITHSCORES')[2]
local counts = {}
for i, state in ipairs({'pending', 'running', 'succeeded', 'failed', 'cancelled'}) do
  counts[i] = call('ZCARD', key(state))
end
return {counts, integer(oldest and now - oldest or 0), call('GET', key('resumed')) or '0',
  call('GET', key('total')) or '0'}
