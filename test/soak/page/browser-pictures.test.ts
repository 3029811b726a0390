// Each screen of the page in Debian's chromium, compared with the picture of it that is kept. Data and clock are the
// test's own, so that nothing has to be masked. UPDATE_GOLDEN=1 keeps new ones: look at them before they are committed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../../support/page/chromium.ts';
import { differenceOf, fontOf, stillContext, takePicture, type Look } from '../../support/page/page-pictures.ts';
import { SAMPLE_TIME, sampleScreens } from '../../support/page/sample-screens.ts';
import { signIn, startScriptedPage, type ScriptedPage } from '../../support/page/scripted-screens.ts';

const KEPT = fileURLToPath(new URL('../../../../test/golden/page/', import.meta.url));
/** The font of the kept pictures. */
const FONT_FILE = join(KEPT, 'font.txt');
const UPDATES = process.env['UPDATE_GOLDEN'] === '1';
/** Share of pixels: a word that has moved is more, another version of the browser less. */
const TOLERATED = 0.0003;
/** In bytes, of each picture. */
const LARGEST = 150_000;
const WIDE: Look = { colorScheme: 'light', width: 1_100 };
const LOOKS: readonly (readonly [string, Look, (address: string) => boolean])[] = [
  ['light', WIDE, () => true],
  ['dark', { ...WIDE, colorScheme: 'dark' }, (address) => address === '/targets' || address.endsWith('checkout-0')],
  ['narrow', { ...WIDE, width: 390 }, (address) => address === '/targets' || address.endsWith('checkout-0')],
];
const CASES = LOOKS.flatMap(([look, how, isWanted]) => [...sampleScreens().keys()].filter(isWanted).map((address) => (
  { address, how, file: `${address.slice(1).replaceAll(/%2F|[/?=]/g, '-')}-${look}.png` }
)));

let browser: Browser;
let served: ScriptedPage;
let token: string;
let calculator: Page;
let isComparable = true;

before(async () => {
  [browser, served] = await Promise.all([startChromium(), startScriptedPage()]);
  token = await signIn(served);
  calculator = await browser.newPage();
  for (const [address, screen] of sampleScreens()) served.screens.show(address, screen);
  const { page } = await opened('/targets', WIDE);
  const font = await fontOf(page);
  await page.context().close();
  if (UPDATES) {
    await mkdir(KEPT, { recursive: true });
    await writeFile(FONT_FILE, `${font}\n`);
  }
  isComparable = existsSync(FONT_FILE) && (await readFile(FONT_FILE, 'utf8')).trim() === font;
}, { timeout: 120_000 });
after(async () => {
  await browser?.close();
  await served?.server.close();
});

async function opened(address: string, how: Look): Promise<{ readonly page: Page }> {
  const page = await (await stillContext(browser, how)).newPage();
  await page.clock.setFixedTime(SAMPLE_TIME);
  await page.addInitScript({ content: `sessionStorage.setItem('isthmus-session', ${JSON.stringify(token)})` });
  await page.goto(served.origin + address);
  await page.locator('.connection.live').waitFor();
  await page.getByText('Loading…').waitFor({ state: 'detached' });
  return { page };
}

describe('the picture of', () => {
  for (const { address, how, file } of CASES) {
    it(`${address}, ${file.split('-').at(-1)}, is the one that is kept`, async (test) => {
      if (!isComparable) return test.skip('the kept pictures were made with another font');
      const { page } = await opened(address, how);
      const picture = await takePicture(page, calculator);
      await page.context().close();
      if (UPDATES) return writeFile(join(KEPT, file), picture);
      const difference = await differenceOf(calculator, picture, await readFile(join(KEPT, file)));
      if (difference <= TOLERATED) return;
      const seen = join(tmpdir(), `isthmus-${file}`);
      await writeFile(seen, picture);
      assert.fail(`${(100 * difference).toFixed(2)} % of the pixels differ; the page looks like ${seen}`);
    });
  }

  it('nothing else is kept, and none is large', async () => {
    const pictures = (await readdir(KEPT)).filter((name) => name.endsWith('.png'));
    assert.deepEqual(pictures.toSorted(), CASES.map(({ file }) => file).toSorted());
    for (const name of pictures) assert.ok((await readFile(join(KEPT, name))).length < LARGEST, `${name} is large`);
  });

  it('another screen, or another colour of one word, is told from it', async () => {
    const { page } = await opened('/targets', WIDE);
    const picture = await takePicture(page, calculator);
    assert.equal(await differenceOf(calculator, picture, picture), 0);
    await page.evaluate("document.querySelector('tbody .pill').style.background = 'magenta'");
    assert.ok((await differenceOf(calculator, picture, await takePicture(page, calculator))) > TOLERATED / 2);
    await page.evaluate("document.querySelector('h1').remove()");
    assert.equal(await differenceOf(calculator, picture, await takePicture(page, calculator)), 1);
    await page.context().close();
  });
});
