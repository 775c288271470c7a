/** Modules that the published package exports, by export name. Paths have no extension. */
export const EXPORTS = {
  './client': 'core/client/index',
  './plugin': 'core/plugin/index',
  './testing': 'core/testing/index',
} as const
export const CLI = 'server/cli/main'
/** Entry point of the command line; already JavaScript. */
export const STARTER = 'server/cli/hub.mjs'

/** Manifest of the repository. */
export interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** Import specifiers of compiled or stripped modules. */
const SPECIFIER = /\b(?:from|import)[ (]{0,2}['"]([^'"\s]{1,200})['"]/g

/** Returns the specifiers that a module imports. */
export const importsIn = (text: string): readonly string[] =>
  [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier)

/** Returns the path of the JavaScript of a module. */
export const jsPath = (path: string): string =>
  path.endsWith('.ts') ? `${path.slice(0, -'.ts'.length)}.js` : path

/** Replaces the imports of TypeScript modules by those of their JavaScript. */
export const withJsImports = (text: string): string =>
  text.replaceAll(SPECIFIER, (all, specifier: string) => all.replace(specifier, jsPath(specifier)))

/** Returns the name of the package of a specifier: `@x402/core/client` → `@x402/core`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/**
 * Manifest of the published package: only the dependencies that its modules import.
 * @param types false if the package has no type declarations
 */
export function publishedManifest(own: Manifest, imports: Iterable<string>, types: boolean) {
  const { dependencies, ...rest } = own
  const needed = new Set([...imports].map(packageOf))
  const pick = (from: object, isKept: (name: string) => boolean): object =>
    Object.fromEntries(Object.entries(from).filter(([name]) => isKept(name)))
  const kept = new Set(['name', 'version', 'description', 'license', 'type'])
  return {
    ...pick(rest, (name) => kept.has(name)),
    engines: { node: '>=22.19' },
    files: ['dist'],
    bin: { agenthub: `dist/${STARTER}`, hub: `dist/${STARTER}` },
    exports: {
      ...Object.fromEntries(
        Object.entries(EXPORTS).map(([name, file]) => [
          name,
          { ...(types && { types: `./dist/${file}.d.ts` }), default: `./dist/${file}.js` },
        ]),
      ),
      './package.json': './package.json',
    },
    dependencies: pick(dependencies, (name) => needed.has(name)),
  }
}
