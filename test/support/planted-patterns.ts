/** Planted violations of the rule on patterns: files, and what the rule must report. */
export const PLANTED_PATTERNS: Readonly<
  Record<string, readonly [files: Readonly<Record<string, string>>, message: RegExp]>
> = {
  'a quadratic pattern': [
    { 'core/a.ts': 'export const a = (text: string) => text.replace(/\\s+$/, "")\n' },
    /core\/a\.ts has the unproven pattern \/\\s\+\$\/: run npm run patterns/,
  ],
  'an exponential pattern among others': [
    {
      'test/support/linear-patterns.txt': '/a/\n/b/g\n',
      'plugins/x/a.ts': 'const a = /a/, b = [/b/g, /^(a+)+$/u]\n',
    },
    /^plugins\/x\/a\.ts has the unproven pattern \/\^\(a\+\)\+\$\/u: .*$/,
  ],
  'a pattern with other flags than the proved one': [
    { 'test/support/linear-patterns.txt': '/a/\n', 'jobs/a.ts': 'const a = /a/i\n' },
    /jobs\/a\.ts has the unproven pattern \/a\/i/,
  ],
  'a pattern built from a text': [
    { 'server/a.ts': 'const a = (text: string) => new RegExp(text)\n' },
    /server\/a\.ts builds a pattern: write a literal, or list it in BUILT/,
  ],
}
