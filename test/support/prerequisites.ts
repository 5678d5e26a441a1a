import { checkPrerequisites, type MissingProgram, output } from '#bin/local/prerequisites.ts'
import { missingBrowser } from './browser.ts'

/** @throws StartFailure that lists all programs that the tests need and this machine lacks */
export async function checkTestPrerequisites(): Promise<void> {
  await checkPrerequisites(await Promise.all([missingJava(), missingMaven(), missingBrowser()]))
}

async function missingJava(): Promise<MissingProgram | undefined> {
  const [, major] = /javac (\d+)/.exec(await output('javac', ['-version'])) ?? []
  if (Number(major) >= 17) return undefined
  const found = major === undefined ? 'there is no javac on the PATH' : `javac is ${major}`
  return {
    problem: `A JDK 17 or newer is required, but ${found}.`,
    install: {
      Debian: 'sudo apt-get install -y default-jdk-headless',
      Ubuntu: 'sudo apt-get install -y openjdk-21-jdk-headless',
      macOS: 'brew install --cask temurin',
    },
  }
}

async function missingMaven(): Promise<MissingProgram | undefined> {
  if (await output('sh', ['-c', 'command -v mvn'])) return undefined
  const apt = 'sudo apt-get install -y maven'
  return {
    problem: 'Maven is required, but there is no mvn on the PATH.',
    install: { Debian: apt, Ubuntu: apt, macOS: 'brew install maven' },
  }
}
