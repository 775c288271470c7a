import type { Pool } from 'pg'
import { unrefSleep } from '../clock.ts'
import { type SealingKey, SealingKeys } from '../crypto/sealing.ts'
import type { SigningKey } from '../crypto/signing-key.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { singleFlight } from '../runtime/cache.ts'
import { ConfigError } from '../runtime/config-error.ts'
import type { KeyVersion, PurposeKeys } from './purpose-keys.ts'
import {
  firstKey,
  type KeyPairPurpose,
  PURPOSE_NAMES,
  type Purpose,
  signingKeyFrom,
} from './purposes.ts'

/**
 * Seconds after its creation until a version becomes the current one. Every process knows it by
 * then, so that none meets a signature or ciphertext that it cannot read.
 */
export const ACTIVATION_SECONDS = 30
/** Interval at which a process reads the versions; shorter than the activation. */
export const RELOAD_MS = 10_000

/** Returns the keys that encrypt the stored versions: the first encrypts, all of them decrypt. */
export const wrappingKeys = (keys: readonly [SigningKey, ...SigningKey[]]): SealingKeys => {
  const [first, ...others] = keys.map(wrappingKeyOf) as [SealingKey, ...SealingKey[]]
  return new SealingKeys([first, ...others])
}

const wrappingKeyOf = (key: SigningKey): SealingKey => ({
  id: key.id.slice(0, 16),
  secret: key.deriveSecret('key-wrapping'),
})

/** Purpose that binds a stored version to its row. */
export const wrappingPurpose = (purpose: Purpose, version: number): string =>
  `key ${purpose} ${version}`

export interface SecretKeysOptions {
  /** Keys in `HUB_SIGNING_KEY`, the current one first. */
  readonly masters: readonly [SigningKey, ...SigningKey[]]
  readonly log: Log
  /** @defaultValue RELOAD_MS */
  readonly reloadMs?: number
}

interface KeyRow {
  readonly purpose: Purpose
  readonly version: number
  readonly keyId: string
  readonly wrappedBy: string
  readonly wrapped: Buffer
  readonly isActive: boolean
}

interface StoredVersions {
  readonly current: KeyVersion
  readonly all: readonly KeyVersion[]
  /** All versions, the current one first. */
  readonly valid: readonly KeyVersion[]
}

type Versions = ReadonlyMap<Purpose, StoredVersions>

/**
 * Secret keys of all purposes, in memory. Rotations take effect without a restart: every process
 * reads the stored versions every ten seconds, and when it meets an unknown one.
 */
export class SecretKeys {
  readonly #pool: Pool
  readonly #wrapping: SealingKeys
  readonly #signingKeys = new Map<string, SigningKey>()
  #versions: Versions = new Map()
  #isClosed = false
  /** Reads the stored versions now. */
  readonly reload: () => Promise<void>

  private constructor(pool: Pool, { masters }: SecretKeysOptions) {
    this.#pool = pool
    this.#wrapping = wrappingKeys(masters)
    const load = singleFlight<'', void>(() => this.#load())
    this.reload = () => load('')
  }

  /**
   * Opens the keys. Stores version 1 of purposes that have none; it derives from the oldest key in
   * `HUB_SIGNING_KEY`, as in installations without stored versions.
   * @throws ConfigError if `HUB_SIGNING_KEY` decrypts none or only some of the versions
   */
  static async open(pool: Pool, options: SecretKeysOptions): Promise<SecretKeys> {
    const keys = new SecretKeys(pool, options)
    await keys.#storeFirstVersions(options.masters.at(-1)!)
    await keys.reload()
    void keys.#poll(options)
    return keys
  }

  /** Returns the keys of a purpose; the object follows rotations. */
  of(purpose: Purpose): PurposeKeys {
    const versions = () => this.#versions.get(purpose)!
    return {
      get current() {
        return versions().current
      },
      get valid() {
        return versions().valid
      },
      find: (version) => this.#find(purpose, version),
    }
  }

  /** Returns the key that signs receipts and checkpoints now. */
  signingKey(): SigningKey {
    return this.#toSigningKey(this.#versions.get('receipts')!.current)
  }

  /** Returns the valid key pairs of a purpose, the current one first. */
  signingKeys(purpose: KeyPairPurpose): readonly SigningKey[] {
    return this.#versions.get(purpose)!.valid.map((version) => this.#toSigningKey(version))
  }

  #toSigningKey({ id, material }: KeyVersion): SigningKey {
    const known = this.#signingKeys.get(id)
    if (known) return known
    const key = signingKeyFrom(material)
    this.#signingKeys.set(id, key)
    return key
  }

  /** Ends the regular reading. */
  close(): void {
    this.#isClosed = true
  }

  async #find(purpose: Purpose, version: number): Promise<KeyVersion> {
    const find = () => this.#versions.get(purpose)!.all.find((each) => each.version === version)
    if (!find()) await this.reload()
    const found = find()
    if (found) return found
    throw new Error(`version ${version} of the key ${purpose} was retired`)
  }

  async #storeFirstVersions(origin: SigningKey): Promise<void> {
    const { rows } = await this.#pool.query<{ purpose: Purpose }>(
      'SELECT DISTINCT purpose FROM hub.key_version',
    )
    const known = new Set(rows.map(({ purpose }) => purpose))
    for (const purpose of PURPOSE_NAMES.filter((each) => !known.has(each))) {
      const { id, material } = firstKey(purpose, origin)
      const text = material.toString('base64')
      const { keyId, sealed } = this.#wrapping.seal(wrappingPurpose(purpose, 1), text)
      await this.#pool.query(
        `INSERT INTO hub.key_version (purpose, version, key_id, wrapped_by, wrapped, active_from)
         VALUES ($1, 1, $2, $3, $4, now()) ON CONFLICT DO NOTHING`,
        [purpose, id, keyId, sealed],
      )
    }
  }

  async #load(): Promise<void> {
    const { rows } = await this.#pool.query<KeyRow>(
      `SELECT purpose, version, key_id AS "keyId", wrapped_by AS "wrappedBy", wrapped,
         active_from <= clock_timestamp() AS "isActive"
       FROM hub.key_version WHERE wrapped IS NOT NULL ORDER BY purpose, version DESC`,
    )
    const byPurpose = Map.groupBy(rows, ({ purpose }) => purpose)
    this.#versions = new Map(
      [...byPurpose].map(([purpose, found]) => {
        const all = found.map((row) => this.#unwrap(row))
        const active = found.findIndex(({ isActive }) => isActive)
        const current = all[active] ?? all.at(-1)!
        const valid = [current, ...all.filter((each) => each !== current)]
        return [purpose, { current, all, valid }]
      }),
    )
  }

  #unwrap({ purpose, version, keyId: id, wrappedBy, wrapped }: KeyRow): KeyVersion {
    const known = this.#versions.get(purpose)?.all.find((each) => each.version === version)
    if (known) return known
    try {
      const text = this.#wrapping.open(wrappingPurpose(purpose, version), wrappedBy, wrapped)
      return { version, id, material: Buffer.from(text, 'base64') }
    } catch (cause) {
      throw new ConfigError(
        `HUB_SIGNING_KEY does not decrypt version ${version} of the key ${purpose}, which the ` +
          `key ${wrappedBy}… encrypted. Add that key after the new one, separated by a comma, ` +
          'and run `npm run keys -- rewrap` before you remove it.',
        { cause },
      )
    }
  }

  async #poll({ log, reloadMs = RELOAD_MS }: SecretKeysOptions): Promise<void> {
    for (;;) {
      await unrefSleep(reloadMs)
      if (this.#isClosed) return
      await this.reload().catch((err: unknown) => {
        if (this.#isClosed) return
        logFailure(log, 'warn', { err }, 'failed to read the keys; the known ones stay')
      })
    }
  }
}
