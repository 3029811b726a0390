// Pictures of the page: taken so that the same data gives the same picture, and compared by the browser itself, which
// decodes both.
import type { Browser, BrowserContext, Page } from 'playwright-core';

/** What a picture is taken of. */
export interface Look {
  readonly colorScheme: 'light' | 'dark';
  /** In pixels. */
  readonly width: number;
}

/** A browser without anything that changes by itself: motion, language and time zone of the machine. */
export function stillContext(browser: Browser, { colorScheme, width }: Look): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce', locale: 'en-US', timezoneId: 'UTC',
  });
}

/** The whole page as a PNG. */
export function takePicture(page: Page): Promise<Buffer> {
  return page.screenshot({ fullPage: true, animations: 'disabled', caret: 'hide' });
}

/** The font that the page's texts are shown in: each machine has its own. */
export async function fontOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send('DOM.enable');
  await session.send('CSS.enable');
  const { root } = await session.send('DOM.getDocument');
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'h1' });
  const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId });
  await session.detach();
  return fonts.map(({ familyName }) => familyName).join(', ');
}

/** Edges of letters may differ by less than this, of 255. */
const SAME_COLOUR = 48;

/**
 * Share of the pixels that differ, from 0 to 1; 1 where the sizes do. The page is only used to compute, and left as it
 * is.
 */
export async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const images = [one, other].map((image) => `data:image/png;base64,${image.toString('base64')}`);
  return Number(await page.evaluate(`(async () => {
    const pixels = await Promise.all(${JSON.stringify(images)}.map(async (address) => {
      const bitmap = await createImageBitmap(await (await fetch(address)).blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    const [{ width, height, data }, other] = pixels;
    if (width !== other.width || height !== other.height) return 1;
    let different = 0;
    for (let at = 0; at < data.length; at += 4) {
      const isSame = [0, 1, 2].every((part) => Math.abs(data[at + part] - other.data[at + part]) < ${SAME_COLOUR});
      if (!isSame) different += 1;
    }
    return different / (width * height);
  })()`));
}
