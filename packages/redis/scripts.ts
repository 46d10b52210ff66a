// What runs in the server, each script whole or not at all. KEYS: the lock, who wrote last (by
// session, a number that only grows), the lines, the index. A lock expires with its holder. Whether
// somebody else has written since is told by the number, so that a writer whose lock has lapsed
// goes on if nobody took it, and is refused for good if somebody did.

/** ARGV: id, owner, ms, whether it is new, the lock of somebody who is known to be gone. */
export const OPEN = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[5] then return {'HELD', held} end
local exists = redis.call('EXISTS', KEYS[3])
if ARGV[4] == '1' and exists == 1 then return {'EXISTS'} end
if ARGV[4] == '0' and exists == 0 then return {'NONE'} end
local token = redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
redis.call('SET', KEYS[1], token .. ' ' .. ARGV[2], 'PX', ARGV[3])
return {'OK', tostring(token)}`;

/**
 * ARGV: id, number, owner, ms, how many lines there are, its entry of the index, lines. One whose
 * answer was lost is sent again.
 */
export const APPEND = `
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
  return {'STALE', redis.call('GET', KEYS[1]) or ''}
end
local there, before, count = redis.call('LLEN', KEYS[3]), tonumber(ARGV[5]), #ARGV - 6
if there == before then
  for i = 7, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
elseif there ~= before + count or redis.call('LINDEX', KEYS[3], -1) ~= ARGV[#ARGV] then
  return {'LENGTH', tostring(there)}
end
redis.call('HSET', KEYS[4], ARGV[1], ARGV[6])
redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[3], 'PX', ARGV[4])
return {'OK'}`;

/** ARGV: id, number, owner, ms. */
export const RENEW = `
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return {'STALE'} end
redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[3], 'PX', ARGV[4])
return {'OK'}`;

/** ARGV: id, number, owner. */
export const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[2] .. ' ' .. ARGV[3] then redis.call('DEL', KEYS[1]) end
return {'OK'}`;

/** KEYS[5]: the titles. ARGV: id. */
export const REMOVE = `
redis.call('DEL', KEYS[1], KEYS[3])
for _, key in ipairs({KEYS[2], KEYS[4], KEYS[5]}) do redis.call('HDEL', key, ARGV[1]) end
return {'OK'}`;

/** KEYS: the team's files. ARGV: name and text of each. They take the place of all before. */
export const PUT_TEAM = `
redis.call('DEL', KEYS[1])
for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return {'OK'}`;

/**
 * The locks that are held, each after its session: most sessions have none. KEYS: the index. ARGV:
 * what the names of locks begin with.
 */
export const HELD = `
local ids, held = redis.call('HKEYS', KEYS[1]), {}
for first = 1, #ids, 1000 do
  local locks = {}
  for i = first, math.min(first + 999, #ids) do locks[#locks + 1] = ARGV[1] .. ids[i] end
  for i, lock in ipairs(redis.call('MGET', unpack(locks))) do
    if lock then held[#held + 1], held[#held + 2] = ids[first + i - 1], lock end
  end
end
return held`;
