import type { Pool } from 'pg'
import { resealSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import { rolesWithPassword } from '../../../core/db/login.ts'
import { rewrapKeys } from '../../../core/key-rotation/rewrap.ts'
import { RotationError, retireKey, rotateKey } from '../../../core/key-rotation/rotate.ts'
import { createLog } from '../../../core/log.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'
import { PURPOSE_NAMES, type Purpose, pluginPassword } from '../../../core/secret-keys/purposes.ts'
import { SecretKeys, wrappingKeys } from '../../../core/secret-keys/secret-keys.ts'
import { resealResponses } from '../../../core/usage/stored-responses.ts'
import { createSealingKeys } from '../../boot/upstreams.ts'
import { authorOf } from '../author.ts'
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
  type OptionValues,
  required,
  toJson,
  UsageError,
} from '../command.ts'
import type { KeysDeps } from './deps.ts'

const OPTIONS = {
  reason: { type: 'string' },
  author: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const rotateCommand = (deps: KeysDeps): Command => ({
  usage: 'PURPOSE --reason WHY [--author WHO] [--json]',
  description: `create the next version of a key; all processes use it after 30 seconds, without a
restart, and the previous version stays valid until it is retired`,
  options: OPTIONS,
  words: 1,
  run: (context, values, [purpose]) =>
    report(context, values, async (pool) => {
      const name = purposeOf(purpose)
      const reason = required(values['reason'], '--reason')
      const wrapping = wrappingKeys(await deps.signingKeys())
      const created = await rotateKey(pool, wrapping, authorOf(values), reason, name)
      const { version, activeFrom } = created
      const from = activeFrom.toISOString()
      return [
        { purpose: name, version, active_from: from },
        `Version ${version} of ${name} is in use from ${from}.`,
      ]
    }),
})

export const retireCommand = (deps: KeysDeps): Command => ({
  usage: 'PURPOSE VERSION --reason WHY [--author WHO] [--json]',
  description: `erase a previous version; refused while something depends on it. Stored responses
and upstream credentials are encrypted with the current version first`,
  options: OPTIONS,
  words: 2,
  run: (context, values, [purpose, text]) =>
    report(context, values, async (pool) => {
      const name = purposeOf(purpose)
      const version = Number(required(text, 'VERSION'))
      if (!Number.isInteger(version) || version < 1) throw new UsageError('VERSION is a number')
      const reason = required(values['reason'], '--reason')
      if (isSealing(name)) await reseal(deps, pool, name)
      if (name === 'plugin-databases') await assertUnused(deps, pool, version)
      await retireKey(pool, authorOf(values), reason, name, version)
      return [{ purpose: name, version }, `Version ${version} of ${name} is retired.`]
    }),
})

export const resealCommand = (deps: KeysDeps): Command => ({
  usage: 'stored-responses | upstream-credentials [--json]',
  description: `encrypt what is stored with the current version of its key, in small batches; can
be interrupted and repeated, and is part of retire`,
  options: { json: { type: 'boolean' } },
  words: 1,
  run: (context, values, [purpose]) =>
    report(context, values, async (pool) => {
      const name = purposeOf(purpose)
      if (!isSealing(name)) throw new UsageError(`${name} encrypts nothing`)
      const result = await reseal(deps, pool, name)
      const { count, unreadable } = result
      const unread = unreadable === 0 ? '' : ` ${unreadable} could not be decrypted.`
      return [result, `${count} encrypted with the current version.${unread}`]
    }),
})

export const rewrapCommand = (deps: KeysDeps): Command => ({
  usage: '--reason WHY [--author WHO] [--json]',
  description: `encrypt all keys with the first key in HUB_SIGNING_KEY, so that the others can be
removed from it`,
  options: OPTIONS,
  run: (context, values) =>
    report(context, values, async (pool) => {
      const reason = required(values['reason'], '--reason')
      const wrapping = wrappingKeys(await deps.signingKeys())
      const count = await rewrapKeys(pool, wrapping, authorOf(values), reason)
      return [
        { rewrapped: count, encrypted_by: wrapping.currentId },
        `${count} keys encrypted anew. All are encrypted by ${wrapping.currentId}.`,
      ]
    }),
})

/** @throws RotationError while a plugin's role has a password of the version */
async function assertUnused({ signingKeys }: KeysDeps, pool: Pool, version: number): Promise<void> {
  const masters = await signingKeys()
  const secretKeys = await SecretKeys.open(pool, { masters, log: createLog('silent') })
  secretKeys.close()
  const { valid } = secretKeys.of('plugin-databases')
  const key = valid.find((each) => each.version === version)
  const roles = key
    ? await rolesWithPassword(pool, (role) => pluginPassword(key.material, role))
    : []
  if (roles.length === 0) return
  throw new RotationError(
    `${roles.length} plugins still have a password of it (${roles.join(', ')}): they get the ` +
      'next one when a process that may log in as the owner of the database opens them, or when ' +
      'they are removed.',
  )
}

/** Writes the result of a change, or why it is not possible now. */
async function report(
  { pool, write }: CommandContext,
  values: OptionValues,
  work: (pool: Pool) => Promise<readonly [json: unknown, text: string]>,
): Promise<number> {
  try {
    const [json, text] = await work(await pool())
    await write(values['json'] === true ? toJson(json) : `${text}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof RotationError || error instanceof ConfigError)) throw error
    await write(values['json'] === true ? toJson({ error: error.message }) : `${error.message}\n`)
    return EXIT_FAILED
  }
}

/** @throws UsageError for an unknown name */
function purposeOf(text: string | undefined): Purpose {
  const found = PURPOSE_NAMES.find((name) => name === text)
  if (found) return found
  throw new UsageError(`PURPOSE is one of ${PURPOSE_NAMES.join(', ')}`)
}

type SealingPurpose = 'stored-responses' | 'upstream-credentials'

const isSealing = (purpose: Purpose): purpose is SealingPurpose =>
  purpose === 'stored-responses' || purpose === 'upstream-credentials'

/** Encrypts everything of a purpose with its current version. */
async function reseal({ signingKeys, sealingKeys }: KeysDeps, pool: Pool, purpose: SealingPurpose) {
  const masters = await signingKeys()
  const secretKeys = await SecretKeys.open(pool, { masters, log: createLog('silent') })
  try {
    if (purpose === 'stored-responses') {
      const count = await resealResponses(pool, secretKeys.of(purpose))
      return { count, unreadable: 0 }
    }
    return await resealSecrets(pool, createSealingKeys({ listing: { sealingKeys }, secretKeys }))
  } finally {
    secretKeys.close()
  }
}
