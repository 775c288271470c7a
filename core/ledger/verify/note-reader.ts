import { Keyring } from '../../crypto/signed-note.ts'
import { isSignedBy, type Note, parseNote, splitNotes } from '../checkpoint.ts'
import { parseHeadsNote } from '../transparency/heads-note.ts'
import { SIGNED, type TrustAnchors } from './checkpoints.ts'
import type { Findings } from './findings.ts'

/** Reads checkpoints for the verification of an export: given ones, and those in the export. */
export class NoteReader {
  readonly #findings: Findings
  readonly #keyring: Keyring | undefined
  readonly #texts: readonly string[]
  #ledger: string | undefined
  #count = 0

  /** @throws RangeError for a malformed key */
  constructor(findings: Findings, { checkpoints, keys }: TrustAnchors) {
    this.#findings = findings
    this.#keyring = keys && new Keyring(keys)
    this.#texts = checkpoints === undefined ? [] : splitNotes(checkpoints)
    if (checkpoints !== undefined) findings.list(SIGNED)
  }

  /** Returns the given checkpoints that can be trusted. */
  external(): readonly Note[] {
    const texts = this.#texts.filter((text) => !parseHeadsNote(text))
    return texts.flatMap((text) => this.read(text) ?? [])
  }

  /** Returns a checkpoint; undefined if it is malformed, of another ledger or not signed. */
  read(text: string): Note | undefined {
    this.#findings.list(SIGNED)
    this.#count++
    const note = parseNote(text)
    if (!note) {
      this.#findings.add(SIGNED, `not a checkpoint: ${text.slice(0, 80).trim()}`)
      return undefined
    }
    this.#ledger ??= note.ledger
    const name = `shard ${note.shard} checkpoint of seq ${note.seq}`
    const isSameLedger = note.ledger === this.#ledger
    const isSigned = !this.#keyring || isSignedBy(this.#keyring, note)
    if (!isSameLedger) this.#findings.add(SIGNED, `${name}: of another ledger than the first`)
    if (!isSigned) this.#findings.add(SIGNED, `${name}: not signed by a trusted key`)
    return isSameLedger && isSigned ? note : undefined
  }

  /** Notes what could not be verified. */
  end(): void {
    if (this.#count === 0) {
      this.#findings.note(
        'there are no checkpoints: a completely rewritten history goes undetected',
      )
    } else if (!this.#keyring) {
      this.#findings.note('the signatures of checkpoints were not checked: no keys were given')
    }
  }
}
