

xPlaceholder

xPlaceholder