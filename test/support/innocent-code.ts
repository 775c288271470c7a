/** Files that look like violations of the architecture and are none. */
export const INNOCENT: Readonly<Record<string, string>> = {
  'core/clock.ts': 'export const a = () => new Date()\n',
  'core/config.ts': "new URL('../package.json', import.meta.url)\n",
  'core/text.ts': "const a = 'new Date()' // not performance.now() or Date.now()\n",
  'core/url.ts': 'const a = /[/"]Date.now(/, b = `${c ? `hrtime(${d})` : ""} Date.now`\n',
  'core/divide.ts': "const a = b / c // it's\nconst d = new Date(e) / f\n",
  'plugins/x/index.ts': "import { usd } from 'agenthub/plugin'\nimport('./a.ts')\n",
  'plugins/index.ts': "import type { A } from 'agenthub/plugin'\nimport x from './x/index.ts'\n",
  'server/program.ts': "import p from '../plugins/index.ts'\nimport j from '../jobs/index.ts'\n",
  'server/cli/main.ts': "import { hub } from 'agenthub/client'\n",
  'test/a.test.ts': "const a = \"import b from '../../x.ts'\"\nmkdtemp('a-XXXXXX')\n",
}
