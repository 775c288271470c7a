import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isNewer, type Note, parseNote } from './checkpoint.ts'

/** Retained checkpoints of one shard. */
export interface RetainedShard {
  /** The newest that was stored in the database. */
  readonly newest: Note | undefined
  /** Signed, and perhaps not stored in the database, because the process ended in between. */
  readonly pending: Note | undefined
}

/** Checkpoints that a destination confirmed. */
export interface ShippedCheckpoints {
  readonly day: string
  readonly text: string
}

const SHIPPED = 'shipped-'
const KEYS = 'keys'
const ABANDONED = 'abandoned'
const PENDING = 'pending'
const HEADS = 'heads'
const PART = '.part'
const SHARD = /^\d{1,5}$/

/**
 * Checkpoints that this hub signed, in its data directory, where the database cannot change them:
 *
 *     checkpoints/<ledger>/keys                 public keys that signed them, in base64
 *     checkpoints/<ledger>/heads                the last root of the tree of checkpoints
 *     checkpoints/<ledger>/shipped-webhook      the last ones that a destination confirmed
 *     checkpoints/<ledger>/<shard>/2026-11-21   the last checkpoint of that day
 *     checkpoints/<ledger>/<shard>/pending      signed before it is stored in the database
 *     checkpoints/<ledger>/abandoned            of entries that a restored backup lacks
 *
 * The newest one proves all entries before it, because seals form a chain.
 */
export class RetainedCheckpoints {
  readonly #directory: string

  constructor(dataDir: string) {
    this.#directory = join(dataDir, 'checkpoints')
  }

  async read(ledger: string, shard: number): Promise<RetainedShard> {
    const folder = this.#folder(ledger, shard)
    const names = await list(folder)
    const day = names.findLast((name) => name !== PENDING)
    const read = async (name: string | undefined) =>
      name === undefined ? undefined : readNote(join(folder, name))
    return {
      newest: await read(day),
      pending: await read(names.find((name) => name === PENDING)),
    }
  }

  /** Writes a checkpoint that is about to be stored in the database. */
  async prepare(note: string): Promise<void> {
    const { ledger, shard } = parseNote(note)!
    await this.#write(this.#folder(ledger, shard), PENDING, note)
  }

  /** Retains a checkpoint that is stored in the database. */
  async retain(note: string): Promise<void> {
    const parsed = parseNote(note)!
    const { ledger, shard, at } = parsed
    const { newest } = await this.read(ledger, shard)
    const folder = this.#folder(ledger, shard)
    if (isNewer(parsed, newest)) await this.#write(folder, at.slice(0, 10), note)
    await rm(join(folder, PENDING), { force: true })
  }

  /** Public keys that signed retained checkpoints, in the form that `Keyring` expects. */
  async keys(ledger: string): Promise<readonly string[]> {
    const text = await readFile(join(this.#directory, ledger, KEYS), 'utf8').catch(ignoreMissing)
    return (text ?? '').split('\n').filter((line) => line !== '')
  }

  async addKeys(ledger: string, keys: readonly string[]): Promise<void> {
    const known = await this.keys(ledger)
    const all = [...new Set([...known, ...keys])]
    if (all.length === known.length) return
    await this.#write(join(this.#directory, ledger), KEYS, `${all.join('\n')}\n`)
  }

  /** Returns the last signed root of the tree of checkpoints: a signed note. */
  async readHeads(ledger: string): Promise<string | undefined> {
    return readFile(join(this.#directory, ledger, HEADS), 'utf8').catch(ignoreMissing)
  }

  async retainHeads(ledger: string, note: string): Promise<void> {
    await this.#write(join(this.#directory, ledger), HEADS, note)
  }

  /** Moves the last signed root of the tree of checkpoints to the folder `abandoned`. */
  async abandonHeads(ledger: string): Promise<void> {
    const note = await this.readHeads(ledger)
    if (note === undefined) return
    await this.#write(join(this.#directory, ledger, ABANDONED), HEADS, note)
    await rm(join(this.#directory, ledger, HEADS))
  }

  /** Returns what was sent to a destination last. */
  async shipped(ledger: string, destination: string): Promise<ShippedCheckpoints | undefined> {
    const file = join(this.#directory, ledger, `${SHIPPED}${destination}`)
    const text = await readFile(file, 'utf8').catch(ignoreMissing)
    return text === undefined ? undefined : (JSON.parse(text) as ShippedCheckpoints)
  }

  async recordShipped(
    ledger: string,
    destination: string,
    shipped: ShippedCheckpoints,
  ): Promise<void> {
    const folder = join(this.#directory, ledger)
    await this.#write(folder, `${SHIPPED}${destination}`, JSON.stringify(shipped))
  }

  /** Ids of the ledgers that have retained checkpoints. */
  async ledgers(): Promise<readonly string[]> {
    return list(this.#directory)
  }

  /** Returns the newest checkpoint of each shard of a ledger. */
  async newest(ledger: string): Promise<readonly Note[]> {
    const shards = (await list(join(this.#directory, ledger))).filter((name) => SHARD.test(name))
    const all = await Promise.all(shards.map((shard) => this.read(ledger, Number(shard))))
    return all.flatMap(({ newest }) => (newest ? [newest] : []))
  }

  /** Returns all retained checkpoints of a ledger, the oldest first in each shard. */
  async all(ledger: string): Promise<readonly Note[]> {
    const shards = (await list(join(this.#directory, ledger))).filter((name) => SHARD.test(name))
    const found = shards.map(async (shard) => {
      const folder = this.#folder(ledger, Number(shard))
      return Promise.all((await list(folder)).map((name) => readNote(join(folder, name))))
    })
    return (await Promise.all(found)).flat()
  }

  /** Moves checkpoints to the folder `abandoned`, where nothing is compared with them. */
  async abandon(ledger: string, notes: readonly Note[]): Promise<void> {
    const texts = new Set(notes.map(({ note }) => note))
    for (const { shard, seq, audit, note } of notes) {
      const name = [shard, seq, audit?.lines ?? 0n].join('-')
      await this.#write(join(this.#directory, ledger, ABANDONED), name, note)
      const folder = this.#folder(ledger, shard)
      for (const file of await list(folder)) {
        const { note: text } = await readNote(join(folder, file))
        if (texts.has(text)) await rm(join(folder, file))
      }
    }
  }

  #folder(ledger: string, shard: number): string {
    return join(this.#directory, ledger, String(shard))
  }

  /** Replaces a file atomically and durably: a crash leaves the old one or the new one. */
  async #write(folder: string, name: string, text: string): Promise<void> {
    await mkdir(folder, { recursive: true })
    const part = join(folder, `${name}${PART}`)
    await using file = await open(part, 'w', 0o600)
    await file.writeFile(text)
    await file.sync()
    await rename(part, join(folder, name))
    await using directory = await open(folder)
    await directory.sync()
  }
}

/** @throws Error if the file is not a checkpoint */
async function readNote(file: string): Promise<Note> {
  const note = parseNote(await readFile(file, 'utf8'))
  if (!note) throw new Error(`${file} is not a checkpoint`)
  return note
}

const list = async (folder: string): Promise<readonly string[]> =>
  ((await readdir(folder).catch(ignoreMissing)) ?? []).filter((name) => !name.endsWith(PART)).sort()

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
