-- Library of the scripts below: time, index, sizes, queues, and forgetting.
--
-- Every script gets the prefix of the keys, then the limits, then its own arguments.
--
--   record:ID            hash, one per operation
--   part:ID:KIND:NUMBER  signed parts of requests, responses and what is attached to operations
--   owners, sizes        hashes, by id
--   bytes, total         sorted set by owner, and the sum
--   expiry               sorted set of all ids, by the time at which they are forgotten
--   pending, running     sorted sets of ids, by creation and by the end of the lease
--   succeeded, failed, cancelled   sorted sets of ids, by their end
--   owned:OWNER          sorted set of ids, by number
--   queue:OWNER          sorted set of pending ids, the next one first
--   delayed              sorted set of pending ids in no queue, by the time at which they return
--   evictable:OWNER      sorted set of ids with bytes that may go, in the order of their coming
--   requests:OWNER       hash of ids, by request id
--   waiting, turns       owners with pending operations; sorted set of owners, by their last turn
--   number, resumed      counters
local prefix = KEYS[1]
local keep_ms, lease_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local byte_limit, kept_count, running_count = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local call = redis.call

-- Redis removes keys itself some time after the scripts should have.
local SLACK_MS = 60000
local PURGE_COUNT = 100

local function key(...)
  return prefix .. table.concat({...}, ':')
end

local function integer(number)
  return string.format('%.0f', number)
end

local function clock()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local now = clock()

local function write(command, name, ...)
  local reply = call(command, name, ...)
  call('PEXPIRE', name, integer(2 * keep_ms + 2 * SLACK_MS))
  return reply
end

-- A full Redis refuses a script whose first write takes memory, and no other.
local function allow_when_full()
  call('DEL', key('none'))
end

local function read(id, field)
  return call('HGET', key('record', id), field)
end

local function owner_of(id)
  return call('HGET', key('owners'), id) or read(id, 'owner') or ''
end

-- A greater number each time, even after the loss of the counter.
local function next_number()
  local last = tonumber(call('GET', key('number')) or '0')
  local number = integer(math.max(last + 1, now * 1000))
  write('SET', key('number'), number)
  return number
end

local function size_of(id)
  return tonumber(call('HGET', key('sizes'), id) or '0')
end

local function set_size(id, owner, size)
  local change = integer(size - size_of(id))
  if size > 0 then
    write('HSET', key('sizes'), id, integer(size))
  else
    call('HDEL', key('sizes'), id)
  end
  write('INCRBY', key('total'), change)
  if tonumber(write('ZINCRBY', key('bytes'), change, owner)) <= 0 then
    call('ZREM', key('bytes'), owner)
  end
end

-- Each claim writes parts of its own.
local function response_kind(token)
  return 'response' .. token
end

local function drop_parts(id, kind, count)
  for number = 0, tonumber(count or '0') - 1 do
    call('UNLINK', key('part', id, kind, number))
  end
end

-- The plan, and parts of the answer: fields 'attached:NAME' of the record, with kind, count and size.
local function attachments(id)
  local found, fields = {}, call('HGETALL', key('record', id))
  for i = 1, #fields, 2 do
    local name = string.match(fields[i], '^attached:(.+)$')
    local kind, count, size = string.match(fields[i + 1], '^(%S+) (%d+) (%d+)$')
    if name and kind then
      found[#found + 1] = {name = name, kind = kind, count = tonumber(count), size = tonumber(size)}
    end
  end
  return found
end

local function attached_size(id)
  local sum = 0
  for _, each in ipairs(attachments(id)) do
    sum = sum + each.size
  end
  return sum
end

local function detach(id, owner, attachment)
  drop_parts(id, attachment.kind, attachment.count)
  call('HDEL', key('record', id), 'attached:' .. attachment.name)
  set_size(id, owner, size_of(id) - attachment.size)
end

-- All but the plan.
local function detach_parts(id, owner)
  for _, each in ipairs(attachments(id)) do
    if each.name ~= 'plan' then
      detach(id, owner, each)
    end
  end
  call('ZREM', key('evictable', owner), id)
end

local function enqueue(id, owner, score)
  write('ZADD', key('queue', owner), score, id)
  write('SADD', key('waiting'), owner)
  write('ZADD', key('pending'), read(id, 'created'), id)
end

local function dequeue(id, owner)
  call('ZREM', key('queue', owner), id)
  call('ZREM', key('pending'), id)
  call('ZREM', key('delayed'), id)
  if call('EXISTS', key('queue', owner)) == 0 then
    call('SREM', key('waiting'), owner)
  end
end

-- Of an operation, or of what is left of it.
local function forget(id)
  local owner, record = owner_of(id), key('record', id)
  local request_id = call('HGET', record, 'request_id')
  if request_id and call('HGET', key('requests', owner), request_id) == id then
    call('HDEL', key('requests', owner), request_id)
  end
  drop_parts(id, 'request', call('HGET', record, 'request_parts'))
  drop_parts(id, response_kind(read(id, 'token') or ''), call('HGET', record, 'response_parts'))
  for _, each in ipairs(attachments(id)) do
    drop_parts(id, each.kind, each.count)
  end
  dequeue(id, owner)
  for _, name in ipairs({'running', 'succeeded', 'failed', 'cancelled', 'expiry'}) do
    call('ZREM', key(name), id)
  end
  call('ZREM', key('evictable', owner), id)
  call('ZREM', key('owned', owner), id)
  if call('EXISTS', key('owned', owner)) == 0 then
    call('ZREM', key('turns'), owner)
  end
  set_size(id, owner, 0)
  call('HDEL', key('owners'), id)
  call('DEL', record)
end

local function purge()
  for _, id in ipairs(call('ZRANGEBYSCORE', key('expiry'), '-inf', now, 'LIMIT', 0, PURGE_COUNT)) do
    forget(id)
  end
end

local function is_kept(id, owner)
  local record = call('HMGET', key('record', id), 'owner', 'expires')
  return record[1] == owner and tonumber(record[2] or '0') > now
end

local function is_held(id, token)
  local record = call('HMGET', key('record', id), 'state', 'token', 'expires')
  return record[1] == 'running' and record[2] == token and tonumber(record[3] or '0') > now
end

-- Parts are written with a short time to live, which this prolongs.
local function keep_parts(id, kind, count)
  if count > 0 and call('PTTL', key('part', id, kind, 0)) < keep_ms + SLACK_MS / 2 then
    for number = 0, count - 1 do
      call('PEXPIRE', key('part', id, kind, number), integer(keep_ms + SLACK_MS))
    end
  end
end

local function set_expiry(id)
  keep_parts(id, 'request', tonumber(read(id, 'request_parts') or '0'))
  for _, each in ipairs(attachments(id)) do
    keep_parts(id, each.kind, each.count)
  end
  call('HSET', key('record', id), 'expires', integer(now + keep_ms))
  call('PEXPIRE', key('record', id), integer(keep_ms + SLACK_MS))
  write('ZADD', key('expiry'), integer(now + keep_ms), id)
end

-- Until new bytes fit, whoever has most bytes loses succeeded operations and parts of other answers,
-- oldest first.
local function make_room(owner, size, freed)
  local limit = byte_limit + freed
  while tonumber(call('GET', key('total')) or '0') + size > limit do
    if size > limit then
      return false
    end
    local victim, victim_owner, most = nil, nil, -1
    local owners = call('ZREVRANGE', key('bytes'), 0, -1, 'WITHSCORES')
    for i = 1, #owners, 2 do
      local bytes = tonumber(owners[i + 1]) + (owners[i] == owner and size or 0)
      local oldest = bytes > most and call('ZRANGE', key('evictable', owners[i]), 0, 0)[1]
      if oldest then
        victim, victim_owner, most = oldest, owners[i], bytes
      end
    end
    if not victim then
      return false
    end
    local state = read(victim, 'state')
    if state and state ~= 'succeeded' then
      detach_parts(victim, victim_owner)
    else
      forget(victim)
    end
  end
  return true
end

local function finish(id, owner, state)
  drop_parts(id, 'request', read(id, 'request_parts'))
  dequeue(id, owner)
  call('ZREM', key('running'), id)
  call('HSET', key('record', id), 'state', state, 'ended', integer(now), 'request_parts', 0)
  write('ZADD', key(state), integer(now), id)
  if state == 'succeeded' then
    write('ZADD', key('evictable', owner), next_number(), id)
  end
  set_expiry(id)
end

local function shown(id)
  return call('HGETALL', key('record', id))
end
