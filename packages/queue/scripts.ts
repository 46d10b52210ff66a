// Lua scripts that run in the Redis server, each whole or not at all.

/**
 * Keeps the first answer to a job. KEYS: the answers of its run, the job. ARGV: the job's id, an
 * answer, seconds to keep it. Returns the answer that counts, or nothing if the job is gone.
 */
export const KEEP = `
if redis.call('EXISTS', KEYS[2]) == 0 then return false end
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return redis.call('HGET', KEYS[1], ARGV[1])`;

// KEYS[1] holds what is known about a provider's server: until when nothing is sent ("paused"),
// whether an answer has named the limits ("known"), until when one request asks alone ("probe"),
// and how much was sent. For requests (r) and tokens (t) it holds the limit, what is left of it,
// when it is full again, how long that takes at most, and how much had been sent when it was last
// full.
//
// What answers say is left is not enough: they arrive late and out of order, a failure says
// nothing, and nobody knows when the server starts to count again. So KEYS[2] lists each request
// with the time until which the server may count it: from its answer, or from when it must have
// arrived, for as long as a limit takes to be full again. The list never grows beyond the limit. A
// failed request may have started the server's count without saying so. Until an answer is surely
// the first that was counted ("sure"), requests therefore count for the time since the first one
// sent ("longest").
const COMMON_PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function get(field) return tonumber(redis.call('HGET', KEYS[1], field) or '0') end
local function set(field, value) redis.call('HSET', KEYS[1], field, value) end
redis.call('PEXPIRE', KEYS[1], 3600000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)`;

/**
 * Decides whether one more request may be sent. ARGV: its tokens, how many ms one request may ask
 * alone, how many ms it may take to arrive. Returns the ms to wait, or 0 and what has been sent,
 * this request included.
 */
export const ALLOW = `${COMMON_PRELUDE}
local wait = get('paused') - now
if get('known') == 0 then
  if get('probe') > now then wait = math.max(wait, 25)
  elseif wait <= 0 then set('probe', now + ARGV[2]) end
end
for kind, needed in pairs({r = 1, t = tonumber(ARGV[1])}) do
  local limit, whole = get(kind .. 'limit'), get(kind .. 'whole')
  if limit > 0 then
    if now >= whole then
      set(kind .. 'left', limit)
      set(kind .. 'since', get(kind .. 'sent'))
      whole = now + get(kind .. 'span')
      set(kind .. 'whole', whole)
    end
    if get(kind .. 'left') < math.min(needed, limit) then wait = math.max(wait, whole - now, 1) end
  end
end
local limit = get('rlimit')
if limit > 0 and redis.call('ZCARD', KEYS[2]) >= limit then
  wait = math.max(wait, redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] - now, 1)
end
if wait > 0 then return {math.ceil(wait), 0, 0} end
redis.call('HINCRBY', KEYS[1], 'rleft', -1)
redis.call('HINCRBY', KEYS[1], 'tleft', 0 - ARGV[1])
local sent = redis.call('HINCRBY', KEYS[1], 'rsent', 1)
redis.call('HSETNX', KEYS[1], 'first', now)
redis.call('ZADD', KEYS[2], now + ARGV[3] + math.max(get('rspan'), get('longest')), sent)
redis.call('PEXPIRE', KEYS[2], 3600000)
return {0, sent, redis.call('HINCRBY', KEYS[1], 'tsent', ARGV[1])}`;

/**
 * Learns from an answer. ARGV: ms to pause, whether the server answered, then for requests and for
 * tokens: what had been sent, this request included, the limit (0: not said), what is left, and the
 * ms until it is full.
 */
export const LEARN = `${COMMON_PRELUDE}
if tonumber(ARGV[1]) > 0 then set('paused', math.max(get('paused'), now + ARGV[1])) end
if ARGV[2] == '1' then set('known', 1) else set('probe', 0) end
for i, kind in ipairs({'r', 't'}) do
  local sent, limit, left, ms = unpack(ARGV, i * 4 - 1, i * 4 + 2)
  sent, limit, left, ms = tonumber(sent), tonumber(limit), tonumber(left), tonumber(ms)
  set(kind .. 'span', math.max(get(kind .. 'span'), ms))
  if kind == 'r' and limit > 0 then
    if left >= limit - 1 then set('sure', 1) end
    set('longest', math.max(get('longest'), now + ms - get('first')))
  end
  -- One that was sent before the limit was whole speaks of what is over.
  if limit > 0 and sent > get(kind .. 'since') then
    set(kind .. 'limit', limit)
    set(kind .. 'left', left - (get(kind .. 'sent') - sent))
    set(kind .. 'whole', now + ms)
  end
end
local span, counts = get('rspan'), redis.call('ZSCORE', KEYS[2], ARGV[3])
if get('sure') == 0 then span = math.max(span, get('longest')) end
if counts and span > 0 then
  redis.call('ZADD', KEYS[2], math.min(tonumber(counts), now + span), ARGV[3])
end
return 1`;
