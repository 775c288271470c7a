import { readJson, replaceFile } from '../files.ts'
import type { Store } from '../store.ts'
import type { Edit } from './edit.ts'

/** What was done to a file, so that it can be undone to the byte. */
export interface Installed {
  readonly client: string
  readonly edit: Edit
  /** Whether the file was ours from the beginning. */
  readonly created: boolean
  readonly backup?: string | undefined
}

type Files = Readonly<Record<string, Installed>>

/** What was installed where, in the user's own folder. */
export class Manifest {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async find(file: string): Promise<Installed | undefined> {
    return (await this.#read())[file]
  }

  async keep(file: string, installed: Installed): Promise<void> {
    const { [file]: before, ...rest } = await this.#read()
    // A second edit of an entry of ours: what undoes both is to take the entry out.
    const known = before ? {} : { [file]: installed }
    await this.#write({ ...rest, ...known })
  }

  async forget(file: string): Promise<void> {
    const { [file]: _, ...rest } = await this.#read()
    await this.#write(rest)
  }

  async #read(): Promise<Files> {
    return (await readJson<Files>(this.#path)) ?? {}
  }

  #write(files: Files): Promise<void> {
    return replaceFile(this.#path, `${JSON.stringify(files, null, 2)}\n`)
  }

  get #path(): string {
    return this.#store.path('install-manifest.json')
  }
}
