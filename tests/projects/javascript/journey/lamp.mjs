const FAINT = 0.1;

export const shines = (level) => level > FAINT;
export const dimmed = (level) => level / 2;
