import type { KeyObject } from 'node:crypto'
import { elapsedMs } from '../clock.ts'
import { publicKeyOf } from '../crypto/signed-note.ts'
import { thumbprintOf } from '../crypto/signing-key.ts'
import type { Egress } from '../egress/http.ts'
import { isJsonObject } from '../json.ts'
import { ttlCache } from '../runtime/cache.ts'
import { Slots } from '../runtime/slots.ts'
import { DIRECTORY_PATH, DIRECTORY_TYPE } from './web-bot-auth.ts'

/** Public keys of an agent, by thumbprint. */
type Keys = ReadonlyMap<string, KeyObject>

interface LoadedDirectory {
  readonly keys: Keys
  /** Time of the last load, by `elapsedMs`. */
  readonly at: number
  /** Time of the last load that succeeded: from then on, keys count for ten minutes. */
  readonly readAt: number
}

const BYTES_MAX = 65_536
const KEYS_MAX = 20
/** Time in which a directory must arrive: a signed call waits for it. */
const LOAD_MS = 1_500
/** Directories that are read at a time: in total, and for one caller. */
const LOADS = { max: 32, maxPerKey: 2 } as const
const CACHE = { ttlMs: 600_000, max: 1_000 } as const
/** Age from which on a directory without the requested key is read again. */
const RELOAD_MS = 60_000
const NO_KEYS: Keys = new Map()

/**
 * Public keys of agents, from the directories of their origins. A directory that cannot be read has
 * no keys for a minute, unless some are known from before. Each caller waits for few new ones at a
 * time, and known ones are read apart from new ones, so that no caller keeps the agents of others
 * from being verified.
 */
export class KeyDirectories {
  readonly #http: Pick<Egress, 'request'>
  readonly #cache = ttlCache<string, LoadedDirectory>(CACHE)
  readonly #pending = new Map<string, Promise<Keys>>()
  readonly #newSlots = new Slots(LOADS)
  readonly #knownSlots = new Slots(LOADS)

  constructor(http: Pick<Egress, 'request'>) {
    this.#http = http
  }

  /**
   * Finds a key; undefined if the directory has no such key or cannot be read, and `busy` if too
   * many are being read.
   * @param caller who waits for it
   */
  async find(
    origin: string,
    keyId: string,
    caller: string,
  ): Promise<KeyObject | 'busy' | undefined> {
    const known = this.#cache.get(origin)
    const found = known?.keys.get(keyId)
    if (found || (known && elapsedMs() - known.at < RELOAD_MS)) return found
    const loading = this.#load(origin, caller, known !== undefined && known.keys.size > 0)
    return loading === undefined ? 'busy' : (await loading).get(keyId)
  }

  /** Reads a directory once for all who wait for it; undefined if too many are being read. */
  #load(origin: string, caller: string, isKnown: boolean): Promise<Keys> | undefined {
    const pending = this.#pending.get(origin)
    if (pending) return pending
    const free = isKnown ? this.#knownSlots.take(origin) : this.#newSlots.take(caller)
    if (!free) return undefined
    const loading = this.#reload(origin).finally(() => {
      free()
      this.#pending.delete(origin)
    })
    this.#pending.set(origin, loading)
    return loading
  }

  async #reload(origin: string): Promise<Keys> {
    const at = elapsedMs()
    const loaded = await this.#read(origin)
      .then((keys) => ({ keys, at, readAt: at }))
      .catch(() => ({ ...this.#lastRead(origin), at }))
    const ttl = Math.max(1, loaded.readAt + CACHE.ttlMs - elapsedMs())
    this.#cache.set(origin, loaded, loaded.keys.size > 0 ? { ttl } : {})
    return loaded.keys
  }

  /** Returns the keys of the last load that succeeded, unless it is too long ago. */
  #lastRead(origin: string): Pick<LoadedDirectory, 'keys' | 'readAt'> {
    const { keys, readAt } = this.#cache.get(origin) ?? { keys: NO_KEYS, readAt: 0 }
    return elapsedMs() - readAt < CACHE.ttlMs ? { keys, readAt } : { keys: NO_KEYS, readAt }
  }

  /** @throws Error if there is no readable directory */
  async #read(origin: string): Promise<Keys> {
    const { status, body } = await this.#http.request({
      url: `${origin}${DIRECTORY_PATH}`,
      method: 'GET',
      headers: { accept: `${DIRECTORY_TYPE}, application/json;q=0.9` },
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: LOAD_MS },
    })
    if (status === 404 || status === 410) return NO_KEYS
    if (status !== 200) throw new Error(`the key directory was answered with ${status}`)
    const { keys } = JSON.parse(body.toString('utf8')) as { readonly keys: readonly unknown[] }
    const found = keys.slice(0, KEYS_MAX).map(toKey)
    return new Map(found.filter((each) => each !== undefined))
  }
}

/** Returns a key with its thumbprint; undefined for one that is not Ed25519. */
function toKey(jwk: unknown): readonly [string, KeyObject] | undefined {
  const { kty, crv, x } = isJsonObject(jwk) ? jwk : {}
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return undefined
  try {
    return [thumbprintOf(x), publicKeyOf(Buffer.from(x, 'base64url'))]
  } catch {
    return undefined
  }
}
