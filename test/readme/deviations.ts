/** Commands that are not run, and why. */
export const SKIPPED: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm ci && npm test$|^HUB_TEST_POSTGRES_VERSION=/, 'runs all tests, as CI does'],
  [/^CONSERVATION_SEED=|npm run test:faults/, 'runs for hours'],
]

/** Files whose commands are not run here, and why. */
export const SKIPPED_FILES: Readonly<Record<string, string>> = {
  'server/deploy/README.md': 'changes the machine; test:faults runs it in an empty Debian',
  'test/faults/recovery/README.md': 'measures recovery times; needs the machine for itself',
}

/** Commands for which a new sandbox has no occasion, and what they say instead. */
export const REFUSED: readonly (readonly [command: RegExp, output: RegExp])[] = [
  [/ledger -- periods/, /^missing {2}over: /m],
  [/ledger -- accept-restore/, /^Not accepted: The database has all entries/m],
  [/--witness KEY/, /Not the verifier key of a witness: KEY/],
  [/npm run cluster -- (status|check)/, /^The ledger is on one server: /m],
]

/** A placeholder for something of the reader's own, and a shell expression for it. */
export const PLACEHOLDERS: readonly (readonly [placeholder: RegExp, value: string])[] = [
  [/\bhub (?=topup|call)/g, 'hub --yes '], // as a person says at a terminal
  [/https:\/\/api\.example\/weather/g, 'http://seller.test/weather'],
  [/FILE\|URL/g, 'checkpoints'],
  [/\bACCOUNT\b/g, 'assets:usdc:base:treasury'],
  [
    /\bCALL-ID\b/g,
    "$(hub --json receipts list | grep -oE '01[0-9a-f]{6}-[0-9a-f-]{27}' | sed -n 1p)",
  ],
  [/\bKEY-ID\b/g, `$(hub --json keys list | grep -oE '"key_id": ?"key_\\w+' | sed 's/.*"//;$!d')`],
  [/Bearer …/g, 'Bearer secret'],
  [/\bPURPOSE\b/g, 'receipts'],
  [/ \[(SOURCE|--host HOST)\]/g, ''],
  [/\brebuild NAME\b/g, 'rebuild spending'],
  [/(?<=plugins -- \w+ )(SPEC|word-count)/g, '../word-count'],
]

/** A command, and what its README says in words to do before it. */
export const BEFORE: readonly (readonly [command: RegExp, before: string])[] = [
  [/^npx hub register && /, 'npm run plugins -- add ../word-count'],
  [/keys -- retire/, 'sleep 55'],
  [/plugins -- add word-count=worker/, 'npm run plugins -- remove ../word-count'],
]

/** Files that a README takes for granted, by the README. */
export const PREPARATIONS: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['mkdir ~/.cursor'],
  'plugins/README.md': ['rm -rf ../word-count'],
  'server/cli/README.md': [`echo '{"text":"Lovely staff."}' > review.json`, 'mkdir ~/.codex'],
}
