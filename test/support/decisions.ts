/** Architecture decisions, enforced by architecture.ts. */

export interface Layer {
  readonly files: RegExp
  /** `$1` stands for the first group of `files`. */
  readonly may: string
  readonly instead: string
}

/** Allowed imports; the first layer that contains a file applies. Each line is a decision. */
export const LAYERS: readonly Layer[] = [
  {
    files: /^core\/client\/proofs\//,
    may: '^core/client/proofs/',
    instead: 'the verifier of proofs depends on no code of the hub, so that nobody has to trust it',
  },
  {
    files: /^core\//,
    may: '^core/|^package[.]json$',
    instead: 'core knows no entry point, job or service: take what is needed as a parameter',
  },
  {
    files: /^plugins\/index\.ts$/,
    may: '^core/plugin/index[.]ts$|^plugins/[^/]+/index[.]ts$',
    instead: "the list names each plugin's index.ts, and nothing inside of it",
  },
  {
    files: /^plugins\/([^/]+)\//,
    may: '^core/plugin/index[.]ts$|^plugins/$1/',
    instead: "import 'agenthub/plugin' and the plugin's own folder; the Host injects the rest",
  },
  {
    files: /^jobs\//,
    may: '^(core|jobs)/|^package[.]json$',
    instead: 'share it through core; server/program.ts passes what plugins declare',
  },
  {
    files: /^server\/cli\//,
    may: '^server/cli/|^core/client/|^core/money[.]ts$|^package[.]json$',
    instead: 'the command line speaks HTTP: use core/client',
  },
  {
    files: /^server\/program\.ts$/,
    may: '^(core|server)/|^(plugins|jobs)/index[.]ts$|^package[.]json$',
    instead: "import the folder's index.ts",
  },
  {
    files: /^server\//,
    may: '^(core|server)/|^package[.]json$',
    instead: 'only server/program.ts sees plugins and jobs, and passes them on as values',
  },
  // Real data is outside the repository; tests that need it are skipped without it.
  {
    files: /^test\//,
    may: '^(?![.][.])|^[.][.]/shared/data/',
    instead: 'keep what tests need inside the repository',
  },
]

/**
 * The folders of core, lowest first. A folder imports only itself, the groups above it in this list
 * and the files of core/ itself; folders of one group do not import each other. Types count, too.
 */
export const CORE_LAYERS: readonly (readonly string[])[] = [
  ['runtime', 'crypto', 'egress'],
  ['db', 'plugin', 'secret-keys'],
  ['ledger', 'mail', 'browser', 'agents'],
  ['identity'],
  ['usage', 'audit'],
  ['webhooks'],
  ['providers'],
  ['payments'],
  ['catalog', 'reconciliation', 'client'],
  ['finance', 'testing', 'key-rotation'],
  ['hosting', 'backup'],
  ['config'],
]

export interface Ban {
  readonly what: string
  readonly pattern: RegExp
  readonly view: 'code' | 'comments'
  readonly files: RegExp
  readonly except?: RegExp
  readonly instead: string
}

const HUB = /^(core|plugins|jobs|server)\//
const ANY = /./
export const BANS: readonly Ban[] = [
  {
    what: 'the system time',
    pattern: /\bDate\.now\b|\bnew Date\b(?!\s*\(\s*[^)\s])/,
    view: 'code',
    files: HUB,
    except: /^core\/clock\.ts$/,
    instead: 'take a Clock (core/clock.ts)',
  },
  {
    what: 'the system timer',
    pattern: /\bperformance\.now\b|\bhrtime\b/,
    view: 'code',
    files: /^(core|jobs|server)\//,
    except: /^(core\/clock\.ts$|core\/browser\/in-page\/|server\/cli\/)/, // runs in pages
    instead: 'use elapsedMs of core/clock.ts',
  },
  {
    what: 'a float',
    pattern: /\b(parseFloat|toFixed|Math\.(round|ceil|floor|trunc))\b/,
    view: 'code',
    files: /^core\/(ledger|payments|usage)\//,
    except: /^core\/usage\/rate-limit\.ts$/,
    instead: 'use core/money.ts, which is exact',
  },
  {
    what: 'unfinished work',
    pattern: /\b(FIXME|TODO|XXX)\b/,
    view: 'comments',
    files: ANY,
    instead: 'finish it, or write an issue',
  },
  {
    what: 'a silenced length limit',
    pattern: /lint-disable.*max-lines-per-function/,
    view: 'comments',
    files: ANY,
    instead: 'split the function',
  },
]

/** Limits of a file, data and dumps excepted. */
export const LINES_MAX = 300
export const COLUMNS_MAX = 100
export const SQL_COLUMNS_MAX = 110
export const DATA = /^plugins\/[^/]+\/data\/|\.artifact\.json$|^core\/db\/schema\.sql$/
export const TOP_LEVEL: readonly string[] = [
  '.ci',
  '.github',
  '.gitignore',
  '.mocharc.json',
  '.npmrc',
  '.oxlintrc.json',
  'LICENSE',
  'README.md',
  'biome.json',
  'core',
  'jobs',
  'knip.json',
  'package-lock.json',
  'package.json',
  'plugins',
  'server',
  'test',
  'tsconfig.json',
]
/**
 * Programs and files imported from outside. Programs that train a plugin's models run on their own,
 * and examples are sold if HUB_PLUGINS names them.
 */
export const ROOTS = new RegExp(
  `^(?:${[
    '(?:server|server/(?:cli|downloads)|plugins/[^/]+/train)/main',
    '(?:jobs|plugins|core/(?:client|plugin|testing))/index',
    'plugins/(?:forecast|iban|primes)/index',
  ].join('|')})\\.ts$`,
)
