import { readJson, replaceJson } from '../files.ts'
import type { Store } from '../store.ts'
import type { Edit } from './edit.ts'

/** Record of an edit, so that it can be undone exactly. */
export interface InstalledEntry {
  readonly client: string
  readonly edit: Edit
  /** True if the command created the file. */
  readonly created: boolean
  readonly backup?: string | undefined
}

type Files = Readonly<Record<string, InstalledEntry>>

/** Record of all installed entries, in the user's configuration directory. */
export class Manifest {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async find(file: string): Promise<InstalledEntry | undefined> {
    return (await this.#read())[file]
  }

  async keep(file: string, installed: InstalledEntry): Promise<void> {
    const { [file]: before, ...rest } = await this.#read()
    // A second edit of the entry is undone by removing the entry.
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
    return replaceJson(this.#path, files)
  }

  get #path(): string {
    return this.#store.path('install-manifest.json')
  }
}
