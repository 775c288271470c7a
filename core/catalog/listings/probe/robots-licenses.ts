const LINES_MAX = 10_000

/**
 * Returns the URLs of the licenses that a robots.txt names for a robot (RSL 1.0 §4.4): those of the
 * robot's group, if there are some, else those outside of all groups. An empty line, or `Sitemap`,
 * ends a group that has rules.
 * @param robot name in lower case
 */
export function licensesIn(text: string, robot: string): readonly string[] {
  const byRobot = new Map<string, string[]>()
  const shared: string[] = []
  let robots: string[] = []
  let hasRules = false
  for (const line of text.split('\n', LINES_MAX)) {
    const [, name = '', value = ''] = /^\s*([a-z-]{1,20})\s*:\s*(\S*)/i.exec(line) ?? []
    const field = name.toLowerCase()
    const endsGroup = field === 'user-agent' || field === 'sitemap' || line.trim() === ''
    if (endsGroup && hasRules) [robots, hasRules] = [[], false]
    if (field === 'user-agent') {
      robots.push(value.toLowerCase())
      byRobot.set(value.toLowerCase(), byRobot.get(value.toLowerCase()) ?? [])
    } else if (field === 'license') {
      const lists = robots.length === 0 ? [shared] : robots.map((each) => byRobot.get(each)!)
      for (const list of lists) list.push(value)
    }
    if (field !== '' && !endsGroup && robots.length > 0) hasRules = true
  }
  const own = byRobot.get(robot) ?? byRobot.get('*') ?? []
  return own.length > 0 ? own : shared
}
