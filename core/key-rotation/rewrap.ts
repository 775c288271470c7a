import type { Pool } from 'pg'
import { type Actor, withAudit } from '../audit/record.ts'
import type { SealingKeys } from '../crypto/sealing.ts'
import type { Purpose } from '../secret-keys/purposes.ts'
import { wrappingPurpose } from '../secret-keys/secret-keys.ts'
import { RotationError } from './rotate.ts'

interface WrappedRow {
  readonly purpose: Purpose
  readonly version: number
  readonly wrappedBy: string
  readonly wrapped: Buffer
}

/**
 * Encrypts all valid versions with the first key of `HUB_SIGNING_KEY`; the others can then be
 * removed from it. Changes no version, so that nothing made with them is affected.
 * @returns number of versions that another key had encrypted
 * @throws RotationError if a version cannot be decrypted; nothing is changed then
 */
export const rewrapKeys = (
  pool: Pool,
  wrapping: SealingKeys,
  by: Actor,
  reason: string,
): Promise<number> =>
  withAudit(pool, by, reason, async (client, note) => {
    const { rows } = await client.query<WrappedRow>(
      `SELECT purpose, version, wrapped_by AS "wrappedBy", wrapped FROM hub.key_version
       WHERE wrapped IS NOT NULL AND wrapped_by <> $1 ORDER BY purpose, version FOR UPDATE`,
      [wrapping.currentId],
    )
    for (const { purpose, version, wrappedBy, wrapped } of rows) {
      const name = wrappingPurpose(purpose, version)
      const { keyId, sealed } = wrapping.seal(name, unwrap(wrapping, name, wrappedBy, wrapped))
      await client.query(
        `UPDATE hub.key_version SET wrapped_by = $3, wrapped = $4
         WHERE purpose = $1 AND version = $2`,
        [purpose, version, keyId, sealed],
      )
      note({
        act: 'secret.rewrap',
        subject: `${purpose} ${version}`,
        before: { key: wrappedBy },
        after: { key: keyId },
      })
    }
    return rows.length
  })

function unwrap(wrapping: SealingKeys, name: string, keyId: string, wrapped: Buffer): string {
  try {
    return wrapping.open(name, keyId, wrapped)
  } catch (cause) {
    throw new RotationError(
      `HUB_SIGNING_KEY lacks the key ${keyId}…, which encrypts the ${name}. Nothing was changed. ` +
        'Add that key, separated by a comma, and run this command again.',
      { cause },
    )
  }
}
