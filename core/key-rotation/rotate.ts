import type { Pool, PoolClient } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import type { SealingKeys } from '../crypto/sealing.ts'
import { generateKey, type Purpose, signingKeyFrom } from '../secret-keys/purposes.ts'
import { ACTIVATION_SECONDS, RELOAD_MS, wrappingPurpose } from '../secret-keys/secret-keys.ts'
import { countDependents } from './dependents.ts'

/** A rotation that is not possible now; the message says why and what to do. */
export class RotationError extends Error {
  override readonly name = 'RotationError'
}

/** Versions of a purpose that may be valid at a time. */
const VALID_MAX = 2
/** Seconds for which a version stays valid after another became the current one everywhere. */
const SETTLING_SECONDS = (2 * RELOAD_MS) / 1_000

interface VersionRow {
  readonly version: number
  readonly keyId: string
  readonly activeFrom: Date
  readonly isSettled: boolean
}

export interface NewVersion {
  readonly purpose: Purpose
  readonly version: number
  readonly activeFrom: Date
}

/**
 * Creates the next version of a purpose. Every process knows it within ten seconds and uses it for
 * what is new after thirty; the previous version stays valid until it is retired.
 * @param wrapping keys that encrypt versions
 * @throws RotationError if two versions are valid already
 */
export const rotateKey = (
  pool: Pool,
  wrapping: SealingKeys,
  by: Actor,
  reason: string,
  purpose: Purpose,
): Promise<NewVersion> =>
  withAudit(pool, by, reason, async (client, note) => {
    const valid = await lockValid(client, purpose)
    if (valid.length >= VALID_MAX) {
      throw new RotationError(
        `Two versions of ${purpose} are valid. Retire version ${valid[0]!.version} first.`,
      )
    }
    const { rows: last } = await client.query<{ version: number }>(
      'SELECT max(version) AS version FROM hub.key_version WHERE purpose = $1',
      [purpose],
    )
    const version = last[0]!.version + 1
    const { id, material } = generateKey(purpose, version)
    if (purpose === 'receipts') await publish(client, material)
    const sealed = wrapping.seal(wrappingPurpose(purpose, version), material.toString('base64'))
    const { rows } = await client.query<{ activeFrom: Date }>(
      `INSERT INTO hub.key_version (purpose, version, key_id, wrapped_by, wrapped, active_from)
       VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6))
       RETURNING active_from AS "activeFrom"`,
      [purpose, version, id, sealed.keyId, sealed.sealed, ACTIVATION_SECONDS],
    )
    const { activeFrom } = rows[0]!
    note({ act: 'secret.rotate', subject: purpose, after: { version, key_id: id } })
    return { purpose, version, activeFrom }
  })

/**
 * Retires a version: erases it, so that nothing made with it can be read or verified any more.
 * Receipts and checkpoints stay verifiable, because public keys are kept.
 * @throws RotationError while something depends on it, or another process may still use it
 */
export const retireKey = (
  pool: Pool,
  by: Actor,
  reason: string,
  purpose: Purpose,
  version: number,
): Promise<void> =>
  withAudit(pool, by, reason, async (client, note) => {
    const valid = await lockValid(client, purpose)
    const row = valid.find((each) => each.version === version)
    if (!row) throw new RotationError(`${purpose} has no valid version ${version}.`)
    const next = valid.find((each) => each.version > version)
    if (!next) throw new RotationError(`Version ${version} is the newest one. Rotate first.`)
    if (!next.isSettled) {
      throw new RotationError(
        `Other processes may still use version ${version}. Version ${next.version} is in use ` +
          `from ${next.activeFrom.toISOString()}: try again ${SETTLING_SECONDS} seconds later.`,
      )
    }
    const { count, advice } = await countDependents(client, purpose, row)
    if (count > 0n) throw new RotationError(`${count} ${advice}.`)
    await client.query(
      `UPDATE hub.key_version SET wrapped = NULL, retired_at = clock_timestamp()
       WHERE purpose = $1 AND version = $2`,
      [purpose, version],
    )
    note({ act: 'secret.retire', subject: purpose, before: { version, key_id: row.keyId } })
  })

/** Locks the valid versions of a purpose and returns them, oldest first. */
async function lockValid(client: PoolClient, purpose: Purpose): Promise<readonly VersionRow[]> {
  const { rows } = await client.query<VersionRow>(
    `SELECT version, key_id AS "keyId", active_from AS "activeFrom",
       active_from + make_interval(secs => $2) <= clock_timestamp() AS "isSettled"
     FROM hub.key_version WHERE purpose = $1 AND wrapped IS NOT NULL
     ORDER BY version FOR UPDATE`,
    [purpose, SETTLING_SECONDS],
  )
  if (rows.length > 0) return rows
  throw new RotationError('No key is stored yet. Start the hub once.')
}

/** Publishes the public key before anything is signed with it. */
async function publish(client: PoolClient, material: Buffer): Promise<void> {
  const { id, publicKey } = signingKeyFrom(material)
  await client.query('SELECT ledger.add_signing_key($1, $2)', [id, publicKey])
}
