import { z } from 'zod'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { cleanText } from '../../core/text.ts'

/** One line of text for others to read, without invisible characters. */
export const plainText = (max: number) =>
  z
    .string()
    .overwrite((text) => cleanText(text, text.length))
    .min(1, 'is required')
    .max(max)

/** Reason of a staff decision, recorded permanently in the audit log. */
export const auditReason = plainText(500).meta({
  description: 'Reason, recorded in the audit log.',
})

export const keyId = z.string().regex(/^key_[0-9A-Za-z]{16}$/, 'must be a key id')

/** Hash of a transaction, in lower case. */
export const transactionHash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be a transaction hash: 0x and 64 hex digits')
  .transform((text) => text.toLowerCase() as Hex)

export const month = z.string().regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'must be a month: 2026-11')

export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, 'must be 2 to 40 of a-z, 0-9, inner hyphens')
