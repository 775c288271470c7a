import type { ParseArgsOptionsConfig } from 'node:util'
import type { Micros } from '../money.ts'
import type { PageRefusal, PricedPage } from './pages.ts'

/**
 * What a plugin may have beside its endpoints: work that nobody asked for, commands, a database.
 * Exported by plugin.ts.
 */

/** What happens without being asked. One run at a time, over all processes of the hub. */
export interface Schedule {
  /** From the end of one run to the start of the next; the first comes with the hub. */
  readonly everySeconds: number
  /** After it `signal` aborts, and another process may take over. Default 300, at most 21,600. */
  readonly deadlineSeconds?: number
  /** A run may be cut off anywhere and come again. What it throws is logged. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

/** What a command was given. */
export interface Invocation {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly words: readonly string[]
  /** Takes the answer; await it. */
  readonly write: (text: string) => unknown
  /** Takes progress and advice. */
  readonly tell: (text: string) => unknown
  /** Aborts when the operator wants it to end. */
  readonly signal: AbortSignal
}

/** A command of the operator's: `npm run <slug> -- NAME`. */
export interface Command {
  /** What follows its name, as in `DIR [--json]`. */
  readonly usage: string
  readonly about: string
  /** As `parseArgs` of node:util takes them. */
  readonly options?: ParseArgsOptionsConfig
  /** How many words it takes beside its options. Default 0. */
  readonly words?: number
  /** Whether, with these options, it works on an empty database that is thrown away after it. */
  readonly isTrial?: (values: Invocation['values']) => boolean
  /** @returns the exit code. @throws Refusal where what was asked means nothing */
  readonly run: (invocation: Invocation) => Promise<number>
}

/** Rows as pg gives them, but int8 as bigint and date as text. */
export interface Rows<Row> {
  readonly rows: Row[]
  readonly rowCount: number | null
}

/** Statements that belong together, or one by itself. */
export interface Transaction {
  query<Row extends object = object>(text: string, values?: readonly unknown[]): Promise<Rows<Row>>
}

/**
 * A schema of the plugin's own, `plugin_<slug>`, in a role that sees no other: names need no
 * schema before them. Statements have 30 seconds. What is refused is thrown with the SQLSTATE as
 * its `code`.
 *
 * Apart from the hub a transaction has 30 seconds in all, an answer 4 MiB (`54000`), four run at a
 * time (others wait), and nothing is left in a connection but what was committed.
 */
export interface Database extends Transaction {
  /** All of `work` is committed, or none. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Reads of one instant, whatever others write meanwhile. */
  reading<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

/** A page that a browser of the hub's shall read. */
export interface RenderRequest {
  readonly url: string
  /** Hosts beside that of `url` to which the page may lead, as `URL.hostname` has them. */
  readonly hosts?: readonly string[] | undefined
  /**
   * A CSS selector: the page is taken as soon as it is there and the page is quiet, or once no time
   * is left to wait for it.
   */
  readonly waitFor?: string | undefined
  /** Aborts when nobody waits for the page any more. */
  readonly signal?: AbortSignal | undefined
  /** For all of it, in milliseconds. Default 20,000, at most 60,000. */
  readonly deadlineMs?: number | undefined
  /** The largest page, in bytes of what is given back. Default 8 MiB, at most 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Default: that of the hub. */
  readonly userAgent?: string | undefined
}

export interface RenderedPage {
  /** Where it was in the end, after redirects within the hosts that are allowed. */
  readonly url: string
  /** Of the document itself: a 404 is a page too. */
  readonly status: number
  /** As the site sent it, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * What the reader of an HTML page has before him, as HTML in UTF-8: scripts have run, shadow
   * roots stand in their places, and frames of the same hosts too, as `<section data-frame="URL">`.
   * Of anything else the bytes that were sent.
   */
  readonly body: Buffer
  /**
   * Of `body`: `text/html; charset=utf-8` when a browser has rendered it, else as the site sent it;
   * undefined when it did not.
   */
  readonly contentType: string | undefined
}

/** Renders pages: each in a fresh context, with nothing left by others, and nothing left behind. */
export interface Browser {
  /** @throws RenderError, whose `code` is one of the fault catalogue */
  render(request: RenderRequest): Promise<RenderedPage>
}

/** A domain whose pages its owner sells. */
export interface SellingDomain {
  readonly id: string
  /** Of its service. */
  readonly slug: string
  readonly host: string
  readonly name: string
  readonly summary: string
  /** Its owner, as a provider. */
  readonly provider: string
  /** The address of a page that is sold, or how the addresses of some begin. */
  readonly example: string
  /** What its dearest page costs, in microdollars. */
  readonly maxPrice: Micros
  /** Which page an address means, and how it is sold; or why it is not. */
  readonly page: (url: string) => PricedPage | PageRefusal
}

/** Domains of owners who have proven them. */
export interface Domains {
  /** The domain that is sold under a slug, as it is now. */
  find(slug: string): Promise<SellingDomain | undefined>
  /** Some of those that are sold, by slug, after this one. */
  list(after: string): Promise<readonly SellingDomain[]>
  /** Whether the robots.txt of a site lets the hub read a page; at most a day old. */
  mayRead(url: string): Promise<boolean>
  /** Notes which page a call was for: owners see what they earn by page. */
  note(read: {
    readonly call: string
    /** The id of the domain. */
    readonly domain: string
    readonly url: string
    /** Whether it was kept from before. */
    readonly cached: boolean
  }): Promise<void>
}
