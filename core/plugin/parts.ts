import type { ParseArgsOptionsConfig } from 'node:util'
import type { Micros } from '../money.ts'
import type { PageRefusal, PageRule, PricedPage } from './pages.ts'

/**
 * Parts of a plugin besides its endpoints: schedules, commands, database, browser and domains.
 * Exported by index.ts.
 */

/** Recurring job. One run at a time, across all processes of the hub. */
export interface Schedule {
  /** Interval from the end of one run to the start of the next; the first starts with the hub. */
  readonly everySeconds: number
  /** `signal` aborts afterwards, and another process may run it. Default 300, at most 21,600. */
  readonly deadlineSeconds?: number
  /** May be interrupted anywhere and run again. Errors are logged. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

/** Arguments and output of a command. */
export interface Invocation {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly words: readonly string[]
  /** Writes to standard output; await it. */
  readonly write: (text: string) => unknown
  /** Writes progress and advice to standard error. */
  readonly tell: (text: string) => unknown
  /** Aborts when the operator cancels the command. */
  readonly signal: AbortSignal
}

/** Operator command: `npm run <slug> -- NAME`. */
export interface Command {
  /** Arguments after the name, as in `DIR [--json]`. */
  readonly usage: string
  readonly about: string
  /** Options for `parseArgs` of node:util. */
  readonly options?: ParseArgsOptionsConfig
  /** Number of positional arguments. Default 0. */
  readonly words?: number
  /** Returns true if, with these options, it should run on an empty, temporary database. */
  readonly isTrial?: (values: Invocation['values']) => boolean
  /** @returns the exit code. @throws Refusal for invalid arguments */
  readonly run: (invocation: Invocation) => Promise<number>
}

/** Rows as returned by pg, except int8 as bigint and date as text. */
export interface Rows<Row> {
  readonly rows: Row[]
  readonly rowCount: number | null
}

/** Executes SQL statements, in one transaction or each in its own. */
export interface Transaction {
  query<Row extends object = object>(text: string, values?: readonly unknown[]): Promise<Rows<Row>>
}

/**
 * Database schema of a plugin, `plugin_<slug>`, used in a role without access to other schemas;
 * names need no schema prefix. Statements time out after 30 seconds. Errors have the SQLSTATE as
 * `code`.
 *
 * In an isolated plugin, a transaction has 30 seconds in total and a result at most 4 MiB
 * (`54000`); four transactions or statements run at a time, further ones wait; and connections keep
 * no session state.
 */
export interface Database extends Transaction {
  /** Runs `work` in one transaction, committed as a whole or not at all. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs `work` in a read-only transaction on one snapshot. */
  reading<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
}

/** Parties among which the slots of the browsers are shared fairly. */
export interface RenderParties {
  /** Stable id of the payer, as in `Call.payer`; undefined if the platform renders for itself. */
  readonly payer?: string | undefined
  /** Owner of the page, such as the provider who sells it. */
  readonly site?: string | undefined
  /** True if the caller pays for the page: paid renders start before others. */
  readonly paid: boolean
}

/** Page to be rendered by a browser of the hub. */
export interface RenderRequest {
  readonly url: string
  /** Allowed hosts besides that of `url`, in the form of `URL.hostname`. */
  readonly hosts?: readonly string[] | undefined
  /** CSS selector to wait for; if it never matches, the page is read when the time is used up. */
  readonly waitFor?: string | undefined
  /** Abort to cancel the rendering. */
  readonly signal?: AbortSignal | undefined
  /** Total time limit in milliseconds. Default 20,000, at most 60,000. */
  readonly deadlineMs?: number | undefined
  /** Maximum size of the returned body. Default 8 MiB, at most 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Default: that of the hub. */
  readonly userAgent?: string | undefined
  /** Default: paid, by no party in particular. */
  readonly parties?: RenderParties | undefined
}

export interface RenderedPage {
  /** Final URL, after redirects within the allowed hosts. */
  readonly url: string
  /** Status of the document; a 404 is a page too. */
  readonly status: number
  /** As sent by the site, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * For HTML, the page as seen by a reader, as UTF-8 HTML: scripts have run, shadow roots are
   * inlined, and so are frames of the allowed hosts, as `<section data-frame="URL">`. For any other
   * type, the bytes as sent.
   */
  readonly body: Buffer
  /**
   * Type of `body`: `text/html; charset=utf-8` if rendered, else as sent by the site, if at all.
   */
  readonly contentType: string | undefined
}

/** Renders pages, each in a fresh browser context that is discarded afterwards. */
export interface Browser {
  /** @throws RenderError, whose `code` is a code of core/errors.ts */
  render(request: RenderRequest): Promise<RenderedPage>
}

/** Domain whose pages are sold by its owner. */
export interface SellingDomain {
  readonly id: string
  /** `https://example.com` */
  readonly origin: string
  /** Slug of its service. */
  readonly slug: string
  readonly host: string
  readonly name: string
  readonly summary: string
  /** Provider id of its owner. */
  readonly provider: string
  /** URL of a page for sale, or a URL prefix. */
  readonly example: string
  /** Prices of the cheapest and the most expensive page, without those of stored copies. */
  readonly minPrice: Micros
  readonly maxPrice: Micros
  /** URL below which its service is called. */
  readonly serviceUrl: string
  /** Rules for everyone, most specific first. */
  readonly rules: readonly PageRule[]
  /**
   * Returns the page of a URL and its terms, or the reason why it is not for sale.
   * @param agent host of the verified agent that asks
   */
  readonly page: (url: string, agent?: string) => PricedPage | PageRefusal
}

/** Page of a domain that its owner wants to see as callers would. */
export interface PreviewRequest {
  readonly domain: SellingDomain
  readonly page: PricedPage
  readonly signal: AbortSignal
}

export interface PagePreview {
  /** The extracted page, as callers get it. */
  readonly article: Readonly<Record<string, unknown>>
  readonly readBy: 'browser' | 'fast'
  /** Wishes of the page to robots, such as `noai`. */
  readonly directives: readonly string[]
}

/** Page that was sold by a call. */
export interface SoldPage {
  readonly url: string
  /** True if the page came from the cache. */
  readonly cached: boolean
  readonly charged: Micros
}

/** Domains with verified ownership. */
export interface Domains {
  /** Returns the domain currently sold under a slug. */
  find(slug: string): Promise<SellingDomain | undefined>
  /** Returns a page of domains for sale ordered by slug, after this slug. */
  list(after: string): Promise<readonly SellingDomain[]>
  /** Returns true if the site's robots.txt (at most a day old) allows reading the page. */
  mayRead(url: string): Promise<boolean>
  /**
   * Returns true if the license that the site names in its robots.txt, if any, lets anyone use the
   * page as input of AI for nothing (RSL).
   * @param own license that says what the hub sells, and so is not asked
   */
  allowFreeUse(url: string, own: string): Promise<boolean>
  /** Records the pages of a call, for the owner's earnings by page. */
  note(sale: {
    readonly call: string
    /** Id of the domain. */
    readonly domain: string
    readonly pages: readonly SoldPage[]
  }): Promise<void>
  /** Notifies the owner that the text of a page is doubtful, at most once a week per domain. */
  reportLowConfidence(doubt: {
    /** Id of the domain. */
    readonly domain: string
    readonly url: string
    /** From 0 to 1. */
    readonly confidence: number
  }): Promise<void>
  /** Sets the function that reads pages for their owners. It throws as the handler of a call. */
  providePreviews(read: (request: PreviewRequest) => Promise<PagePreview>): void
}
