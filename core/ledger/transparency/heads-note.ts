import { parseSignedNote, type SignedText, signNote } from '../../crypto/signed-note.ts'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { ORIGIN } from '../checkpoint.ts'

/**
 * Root of the tree whose leaves are the checkpoints of all shards. Signed, it is a C2SP
 * tlog-checkpoint:
 *
 *     agenthub-ledger/<ledger>/heads        origin, and name of the key
 *     <size>                                number of leaves
 *     <base64>                              root
 *     at 2026-11-21T06:04:32.123456Z        time of signing
 */
export interface HeadsCheckpoint {
  readonly ledger: string
  readonly size: number
  readonly root: Buffer
  readonly at: string
}

/** A checkpoint of that tree with its original text and its unverified signatures. */
export interface HeadsNote extends HeadsCheckpoint, SignedText {
  readonly note: string
}

const BODY =
  /^agenthub-ledger\/([0-9a-f-]{36})\/heads\n([1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\nat (\S{27})\n$/

export const headsOrigin = (ledger: string): string => `${ORIGIN}/${ledger}/heads`

export function signHeads({ ledger, size, root, at }: HeadsCheckpoint, key: SigningKey): string {
  const origin = headsOrigin(ledger)
  const text = `${origin}\n${size}\n${root.toString('base64')}\nat ${at}\n`
  return signNote(text, origin, key)
}

/** Parses a signed note without verifying its signatures; undefined if malformed. */
export function parseHeadsNote(note: string): HeadsNote | undefined {
  const signed = parseSignedNote(note)
  const [, ledger, size, root, at] = (signed && BODY.exec(signed.text)) ?? []
  if (!signed || ledger === undefined) return undefined
  return {
    ledger,
    size: Number(size),
    root: Buffer.from(root!, 'base64'),
    at: at!,
    note,
    ...signed,
  }
}
